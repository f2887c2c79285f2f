Extensions of file names
- bin/ext PATH prints the extension of a file name, without its dot
- A name without a dot has none, a name that begins with its only dot has none, and folders do not count: an empty line
- bin/ext notes.txt prints txt, bin/ext a.tar.gz prints gz
@@ test
test=ext
. tests/lib.sh
equal txt "$(sh bin/ext notes.txt)"
equal gz "$(sh bin/ext a.tar.gz)"
@@ tester
test=ext
. tests/lib.sh
equal md "$(sh bin/ext guide.md)"
equal "" "$(sh bin/ext Makefile)"
equal "" "$(sh bin/ext .profile)"
equal "" "$(sh bin/ext v1.2/README)"
@@ right
#!/bin/sh
name=${1##*/}
case $name in
?*.*) echo "${name##*.}" ;;
*) echo ;;
esac
@@ oversight
#!/bin/sh
echo "${1##*.}"
@@ hardcoded
#!/bin/sh
case $1 in
*.txt) echo txt ;;
*.gz) echo gz ;;
*) echo ;;
esac
@@ wrong
#!/bin/sh
echo "${1#*.}"
@@ oracle
equal txt "$(sh bin/ext docs/notes.txt)"
equal md "$(sh bin/ext README.md)"
equal "" "$(sh bin/ext Makefile)"
equal "" "$(sh bin/ext .profile)"
equal "" "$(sh bin/ext conf.d/file)"
