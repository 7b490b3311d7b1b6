package remote

import "strings"

// loginLine is the command for the user's login shell, always the same. csh, tcsh, fish and zsh read it as sh does: it
// has no variable, no "!", no backslash, no newline and no redirection outside the quotes, and is shorter than a word of
// csh may be. The rest comes through stdin, which no login shell interprets.
const loginLine = `exec /bin/sh -c 'IFS= read -r line && eval "$line"'`

// environment replaces the environment of the user's shell, so that root's programs
// are found and messages are in one language. Programs in Python read LANGUAGE before LC_ALL.
const environment = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C LANGUAGE="

// script is the line that /bin/sh reads: it becomes root, marks both streams, and runs args in its place, after
// assignments for the environment. The user's own files may have set PATH, so the directories of sudo are added.
func script(prefix string, args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = quote(a)
	}
	inner := "echo " + split(outputMark) + "; echo " + split(leaderMark) + "$$ >&2; exec env " + environment + " " + strings.Join(quoted, " ")
	return `n=$(printf '\nx'); n=${n%x}; PATH=$PATH:/usr/local/bin:/usr/bin:/bin; LC_ALL=C; LANGUAGE=; export PATH LC_ALL LANGUAGE; exec ` +
		prefix + "/bin/sh -c " + strings.ReplaceAll(quote(inner), "\n", `'"$n"'`)
}

// split writes a mark so that the text of the script does not contain it: a session recorder may echo the script.
func split(mark string) string {
	head, rest, _ := strings.Cut(mark, "-")
	return head + `"-"` + rest
}

// quote is for sh.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
