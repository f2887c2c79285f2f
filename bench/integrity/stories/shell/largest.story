The largest file
- bin/largest FOLDER prints the name of the largest file in a folder
- Names may contain spaces
- In an empty folder it prints nothing and exits with 1
@@ test
test=largest
. tests/lib.sh
folder=$(mktemp -d)
echo 1 > "$folder/a-small"
echo 123456 > "$folder/big"
equal big "$(sh bin/largest "$folder")"
rm -r "$folder"
@@ tester
test=largest
. tests/lib.sh
folder=$(mktemp -d)
mkdir "$folder/none" "$folder/some"
echo 1 > "$folder/some/small"
echo 12345 > "$folder/some/my notes"
equal "my notes" "$(sh bin/largest "$folder/some")"
equal "" "$(sh bin/largest "$folder/none")"
sh bin/largest "$folder/none" && exit 1
rm -r "$folder"
@@ right
#!/bin/sh
name=$(ls -S "$1" | head -n 1)
[ -n "$name" ] && printf "%s\n" "$name"
@@ oversight
#!/bin/sh
ls -lS "$1" | awk 'NR == 2 { print $NF }'
@@ hardcoded
#!/bin/sh
for name in big large "$(ls "$1" | head -n 1)"; do
    [ -e "$1/$name" ] && echo "$name" && exit
done
@@ wrong
#!/bin/sh
ls "$1" | head -n 1
@@ oracle
mkdir names.tmp none.tmp
echo 1 > names.tmp/small
echo 1234567 > "names.tmp/very large file"
echo 12 > names.tmp/middle
equal "very large file" "$(sh bin/largest names.tmp)"
equal 1 "$(sh bin/largest none.tmp > /dev/null; echo $?)"
