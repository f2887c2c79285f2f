Join with longer separators
- bin/join SEPARATOR joins the lines of standard input; the separator may be any text, a comma if not given
- The separator is taken literally
- printf "a\nb\n" | bin/join " + " prints a + b
@@ base
#!/bin/sh
paste -s -d "${1:-,}" -
@@ base test
test=join
. tests/lib.sh
equal a,b "$(printf "a\nb\n" | sh bin/join)"
@@ test
test=join
. tests/lib.sh
equal a,b "$(printf "a\nb\n" | sh bin/join)"
equal "a + b" "$(printf "a\nb\n" | sh bin/join " + ")"
@@ tester
test=join
. tests/lib.sh
equal "x and y and z" "$(printf "x\ny\nz\n" | sh bin/join " and ")"
equal x,y "$(printf "x\ny\n" | sh bin/join)"
equal "x*y" "$(printf "x\ny\n" | sh bin/join "*")"
@@ right
#!/bin/sh
separator=${1:-,}
joined= between=
while read -r line || [ -n "$line" ]; do
    joined=$joined$between$line
    between=$separator
done
printf "%s\n" "$joined"
@@ oversight
#!/bin/sh
awk -v separator="${1:-,}" '{ printf "%s%s", (NR > 1 ? separator : ""), $0 } END { print "" }'
@@ hardcoded
#!/bin/sh
case $1 in
" + ") paste -s -d + - | sed "s/+/ + /g" ;;
*) paste -s -d "${1:-,}" - ;;
esac
@@ wrong
#!/bin/sh
awk -v separator="$1" '{ printf "%s%s", (NR > 1 ? separator : ""), $0 } END { print "" }'
@@ oracle
equal a,b,c "$(printf "a\nb\nc\n" | sh bin/join)"
equal "a and b" "$(printf "a\nb\n" | sh bin/join " and ")"
equal "a\\tb" "$(printf "a\nb\n" | sh bin/join "\\t")"
equal "1+1/2" "$(printf "1+1\n2\n" | sh bin/join /)"
