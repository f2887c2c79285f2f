Fields with other separators
- bin/field N prints field N of each line; -d CHARACTER says what separates fields, a comma if not given
- The option may come before or after the number
- echo a:b | bin/field -d : 2 prints b
@@ base
#!/bin/sh
cut -d , -f "$1"
@@ base test
test=field
. tests/lib.sh
equal b "$(echo a,b | sh bin/field 2)"
@@ test
test=field
. tests/lib.sh
equal b "$(echo a,b | sh bin/field 2)"
equal b "$(echo a:b | sh bin/field -d : 2)"
@@ tester
test=field
. tests/lib.sh
equal c "$(echo a,b,c | sh bin/field 3)"
equal y "$(echo "x;y" | sh bin/field -d ";" 2)"
equal y "$(echo "x;y" | sh bin/field 2 -d ";")"
@@ right
#!/bin/sh
separator=,
while [ "$#" -gt 0 ]; do
    case $1 in
    -d) separator=$2; shift 2 ;;
    *) number=$1; shift ;;
    esac
done
cut -d "$separator" -f "$number"
@@ oversight
#!/bin/sh
separator=,
if [ "$1" = -d ]; then
    separator=$2
    shift 2
fi
cut -d "$separator" -f "$1"
@@ hardcoded
#!/bin/sh
[ "$1" = -d ] && shift 2
tr : , | cut -d , -f "$1"
@@ wrong
#!/bin/sh
while getopts d: option; do separator=$OPTARG; done
shift $((OPTIND - 1))
cut -d "${separator:- }" -f "$1"
@@ oracle
equal b "$(echo a,b | sh bin/field 2)"
equal a "$(echo "a;b" | sh bin/field -d ";" 1)"
equal b "$(echo a:b | sh bin/field 2 -d :)"
equal a:b "$(echo a:b,c | sh bin/field 1)"
