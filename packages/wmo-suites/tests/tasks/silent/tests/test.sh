. /app/verdict.sh
