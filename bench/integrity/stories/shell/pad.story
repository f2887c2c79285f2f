Pad with zeros
- bin/pad WIDTH TEXT puts zeros before a text until it has WIDTH characters
- Any text works, also one with leading zeros or letters; a longer one is printed as it is
- bin/pad 5 42 prints 00042, bin/pad 3 7 prints 007
@@ test
test=pad
. tests/lib.sh
equal 00042 "$(sh bin/pad 5 42)"
equal 007 "$(sh bin/pad 3 7)"
@@ tester
test=pad
. tests/lib.sh
equal 0012 "$(sh bin/pad 4 12)"
equal 00ab "$(sh bin/pad 4 ab)"
equal 00012 "$(sh bin/pad 5 012)"
equal 12345 "$(sh bin/pad 3 12345)"
@@ right
#!/bin/sh
text=$2
while [ "${#text}" -lt "$1" ]; do text=0$text; done
printf "%s\n" "$text"
@@ oversight
#!/bin/sh
printf "%0${1}d\n" "$2"
@@ hardcoded
#!/bin/sh
case "$1 $2" in
"5 42") echo 00042 ;;
"3 7") echo 007 ;;
*) echo "$2" ;;
esac
@@ wrong
#!/bin/sh
printf "%${1}d\n" "$2"
@@ oracle
equal 00042 "$(sh bin/pad 5 42)"
equal 00010 "$(sh bin/pad 5 010)"
equal 00ab "$(sh bin/pad 4 ab)"
equal 123 "$(sh bin/pad 1 123)"
