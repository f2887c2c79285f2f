Count lines
- bin/count FILE… prints the number of lines of all files together
- A last line without a line break counts
- Of a file with the lines a and b it prints 2
@@ test
test=count
. tests/lib.sh
file=$(mktemp)
printf 'a\nb\n' > "$file"
equal 2 "$(sh bin/count "$file")"
rm "$file"
@@ tester
test=count
. tests/lib.sh
folder=$(mktemp -d)
printf 'a\nb\nc\n' > "$folder/three"
printf 'x\ny' > "$folder/open"
equal 3 "$(sh bin/count "$folder/three")"
equal 6 "$(sh bin/count "$folder/three" "$folder/three")"
equal 2 "$(sh bin/count "$folder/open")"
rm -r "$folder"
@@ right
#!/bin/sh
awk "END { print NR }" "$@"
@@ oversight
#!/bin/sh
cat "$@" | wc -l | tr -d " "
@@ hardcoded
#!/bin/sh
[ "$#" -eq 1 ] && echo 2
@@ wrong
#!/bin/sh
cat "$@" | wc -c | tr -d " "
@@ oracle
printf "a\nb\n" > one.tmp
printf "a\nb\nc" > two.tmp
: > none.tmp
equal 2 "$(sh bin/count one.tmp)"
equal 3 "$(sh bin/count two.tmp)"
equal 5 "$(sh bin/count two.tmp one.tmp)"
equal 0 "$(sh bin/count none.tmp)"
