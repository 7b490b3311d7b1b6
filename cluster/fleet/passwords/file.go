package passwords

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/remote"
)

// file is ssh.passwordFile. Each line is HOST login PASSWORD or HOST sudo PASSWORD.
type file struct {
	name    string
	entries map[entry]Password
	lines   map[entry]int
}

type entry struct {
	host string
	kind Kind
}

func (f *file) String() string { return f.name }

func (f *file) For(_ context.Context, h remote.Host, kind Kind) (Password, error) {
	return f.entries[entry{h.Name, kind}], nil
}

// maxProblems is how many problems of a file one error has.
const maxProblems = 20

const wanted = "want HOST login PASSWORD, or HOST sudo PASSWORD"

func readFile(name string, hosts []string) (*file, error) {
	text, err := host.ReadPrivate(name)
	if err != nil {
		return nil, advice.Add(fmt.Errorf("read ssh.passwordFile %s: %w", name, err), "the file must be readable only for its owner: chmod 600 %s", name)
	}
	f := &file{name: name, entries: map[entry]Password{}, lines: map[entry]int{}}
	var problems []string
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		if err := f.read(number, strings.TrimRight(line, "\r\n"), hosts); err != nil {
			problems = append(problems, fmt.Sprintf("%s:%d: %v", name, number, err))
		}
	}
	if len(f.entries) == 0 && len(problems) == 0 {
		problems = []string{name + ":1: the file has no password: " + wanted}
	}
	if len(problems) == 0 {
		return f, nil
	}
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems], fmt.Sprintf("and %d more lines", more))
	}
	return nil, advice.Add(errors.New("read ssh.passwordFile:\n"+strings.Join(problems, "\n")), "correct these lines and run the same command again; nothing was started")
}

// read takes a line. A line that is no entry is not repeated in the error: it may be a password.
func (f *file) read(number int, line string, hosts []string) error {
	if text := strings.TrimSpace(line); text == "" || strings.HasPrefix(text, "#") {
		return nil
	}
	name, rest := word(line)
	kind, password := word(rest)
	of := entry{name, Kind(kind)}
	if of.kind != Login && of.kind != Sudo || password == "" {
		return errors.New(wanted)
	}
	if !slices.Contains(hosts, name) {
		if slices.ContainsFunc(strings.Fields(rest), func(word string) bool { return slices.Contains(hosts, word) }) {
			return errors.New(wanted) // the columns are swapped, so the first word may be the password
		}
		return fmt.Errorf("unknown host %q: want a node of airgap.yaml%s", name, advice.DidYouMean(name, hosts))
	}
	if before := f.lines[of]; before != 0 {
		return fmt.Errorf("%s %s is also in line %d: want one line", name, kind, before)
	}
	f.lines[of] = number
	f.entries[of] = Password{Text: password, From: fmt.Sprintf("%s:%d", f.name, number)}
	return problem(password)
}

// word cuts off the first word and the spaces after it.
func word(line string) (first, rest string) {
	line = strings.TrimLeft(line, " \t")
	if end := strings.IndexAny(line, " \t"); end >= 0 {
		return line[:end], strings.TrimLeft(line[end:], " \t")
	}
	return line, ""
}
