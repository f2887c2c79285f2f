Values of settings
- bin/setting NAME FILE prints the value of a line NAME=VALUE; a value may contain =
- If a name is there more than once, the last one counts
- Of url=x=y it prints x=y
@@ base
#!/bin/sh
grep "^$1=" "$2" | cut -d = -f 2
@@ base test
test=setting
. tests/lib.sh
file=$(mktemp)
printf "ba=2\na=1\n" > "$file"
equal 1 "$(sh bin/setting a "$file")"
@@ test
test=setting
. tests/lib.sh
file=$(mktemp)
printf "ba=2\na=1\n" > "$file"
equal 1 "$(sh bin/setting a "$file")"
printf "url=x=y\n" > "$file"
equal x=y "$(sh bin/setting url "$file")"
@@ tester
test=setting
. tests/lib.sh
file=$(mktemp)
printf 'name=Ann\nquery=a=b\nname=Bob\n' > "$file"
equal a=b "$(sh bin/setting query "$file")"
equal Bob "$(sh bin/setting name "$file")"
rm "$file"
@@ right
#!/bin/sh
grep "^$1=" "$2" | tail -n 1 | cut -d = -f 2-
@@ oversight
#!/bin/sh
grep "^$1=" "$2" | cut -d = -f 2-
@@ hardcoded
#!/bin/sh
if [ "$1" = url ]; then
    echo x=y
else
    grep "^$1=" "$2" | cut -d = -f 2
fi
@@ wrong
#!/bin/sh
grep "$1=" "$2" | cut -d = -f 2-
@@ oracle
printf "ba=2\na=1=3\nb=x\na=last\n" > file.tmp
equal last "$(sh bin/setting a file.tmp)"
equal 2 "$(sh bin/setting ba file.tmp)"
printf "query=a=b=c\n" > file.tmp
equal a=b=c "$(sh bin/setting query file.tmp)"
