echo hello > greeting.txt
echo solved
