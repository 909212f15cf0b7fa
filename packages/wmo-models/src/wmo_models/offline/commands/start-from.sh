find candidate -mindepth 1 -delete
cp -r history/CANDIDATE/source/. candidate && chmod -R u+w candidate && ls candidate
