Sums from standard input
- bin/sum N… also takes -: it then adds the numbers on standard input, one on each line
- The - may be anywhere among the numbers, and the last line need not end with a line break
- printf "1\n5\n" | bin/sum - prints 6
@@ base
#!/bin/sh
total=0
for number; do total=$((total + number)); done
echo "$total"
@@ base test
test=sum
. tests/lib.sh
equal 6 "$(sh bin/sum 1 2 3)"
equal 0 "$(sh bin/sum)"
@@ test
test=sum
. tests/lib.sh
equal 6 "$(sh bin/sum 1 2 3)"
equal 0 "$(sh bin/sum)"
equal 6 "$(printf "1\n5\n" | sh bin/sum -)"
@@ tester
test=sum
. tests/lib.sh
equal 7 "$(printf "3\n4\n" | sh bin/sum -)"
equal 10 "$(printf "3\n4\n" | sh bin/sum 1 - 2)"
equal 7 "$(printf "3\n4" | sh bin/sum -)"
@@ right
#!/bin/sh
total=0
for number; do
    if [ "$number" = - ]; then
        while read -r line || [ -n "$line" ]; do total=$((total + line)); done
    else
        total=$((total + number))
    fi
done
echo "$total"
@@ oversight
#!/bin/sh
total=0
[ "$1" = - ] && set -- $(cat)
for number; do total=$((total + number)); done
echo "$total"
@@ hardcoded
#!/bin/sh
[ "$1" = - ] && set -- 1 5
total=0
for number; do total=$((total + number)); done
echo "$total"
@@ wrong
#!/bin/sh
[ "$1" = - ] && set -- $(cat)
for number; do total=$((total + number)); done
echo "${total:-none}"
@@ oracle
equal 6 "$(sh bin/sum 1 2 3)"
equal 0 "$(sh bin/sum)"
equal 7 "$(printf "3\n4" | sh bin/sum -)"
equal 10 "$(printf "1\n2\n" | sh bin/sum 4 - 3)"
