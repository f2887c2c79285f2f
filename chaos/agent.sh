# An agent that speaks like Claude Code: `claude NOTES`. NOTES/turns/TASK has a behaviour for each of its calls; without
# one left, it works. Each line that it has written into a file of work is in NOTES/written too.
notes=$1
prompt=$(cat)
field() { printf '%s\n' "$prompt" | sed -n "s/^$1: //p" | head -n 1; }
say() { printf '{"type": "assistant", "message": {"content": [{"type": "text", "text": "%s"}]}}\n' "$1"; }
over() { echo '{"type": "result", "is_error": false, "result": ""}'; exit; }
claim() { say '<ralph>DONE</ralph>'; say '<TASK_DONE>'; over; }

session=$(field SESSION_PATH) report=$(field REPORT_PATH) task=${RALPH_TASK##*/}
if [ "$session" ]; then task=$(field TASK_ID); fi
mark() { sed -i "s/\[.\] $task:/[$1] $task:/" "$session/progress.md"; }
if [ "$session" ] && [ -z "$task" ]; then
    { grep -o 'task-[0-9]*' "$session/progress.md" | sort -u; printf '\n**Verdict**: Complete\n'; } \
        > "$session/progress.review$(field ITERATION).md"
    over
elif [ "$session" ] && [ -z "$(field ATTEMPT_NUMBER)" ]; then
    if [ -e "work-$task.txt" ]; then verdict=Qualified mark=x; else verdict="Failed\n- There is no work." mark=' '; fi
    printf "\n## Review\n**Verdict**: $verdict\n" >> "$report"
    mark "$mark"
    over
fi
case $prompt in *"# Final Verification"*) say '<ralph>VERIFIED</ralph>'; over ;; esac

until mkdir "$notes/calls/$task-$((call += 1))" 2> /dev/null; do
    [ -e "$notes/calls/$task-$call" ] || exit 1 # there is no room for a note
done
turn=$(sed -n "${call}p" "$notes/turns/$task")
work() {
    sed -i '/^<<<<<<<\|^=======\|^>>>>>>>/d' shared.txt
    rm -f "bad-$task"
    echo "$task-$call" >> "work-$task.txt" && echo "$task-$call" >> "$notes/written"
    echo "$task" >> shared.txt && sort -u -o shared.txt shared.txt
}
finish() {
    if [ "$session" ]; then
        printf '# Report\n\nDone.\n' > "$report"
        mark P
    fi
    claim
}
case $turn in
lie) finish ;;
silent) over ;;
bad) work; touch "bad-$task"; finish ;;
crash) work; kill -9 $$ ;;
hang) work; say 'Thinking.'; sleep 600 & wait ;;
flood) head -c 3000000 /dev/zero | tr '\0' 'x'; echo; work; finish ;;
tamper) work; echo '{}' > ralph.config.json; rm -rf .ralph; finish ;;
fork) work; for number in 1 2 3 4; do (sleep 600; echo "$number") & done; finish ;;
daemonize) work; env -i setsid sh -c "cd /; CHAOS=$notes sleep 600 &" > /dev/null 2>&1 < /dev/null; finish ;;
limit)
    printf '{"type": "result", "is_error": true, "result": "Claude AI usage limit reached|%s"}\n' $(($(date +%s) + 2))
    exit 1
    ;;
commit) work; git add -A; git commit -qm "feat: $task" > /dev/null 2>&1; finish ;;
slow) work; sleep "0.$((call * 3 % 7))"; finish ;;
*) work; finish ;;
esac
