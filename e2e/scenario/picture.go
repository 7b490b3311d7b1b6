package scenario

import (
	"bufio"
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"airgap.dev/airgap/e2e/lab"
)

//go:embed picture.sh
var pictureScript string

// Picture is the state of a host: files, packages, units, processes, kernel settings,
// network, packet filter. It contains the lines of picture.sh and the count of each line.
type Picture map[string]int

// Picture takes a picture of a server.
func (e *Env) Picture(ctx context.Context, m lab.Machine) (Picture, error) {
	return pictureBut(ctx, e, m, "")
}

// TakePicture takes a picture like Picture and stores it in to.
func (e *Env) TakePicture(ctx context.Context, m lab.Machine, to *Picture) (err error) {
	*to, err = e.Picture(ctx, m)
	return err
}

// LivePicture takes a picture without the data that a running cluster writes all the time:
// the data of etcd and containerd, and logs.
func LivePicture(ctx context.Context, e *Env, m lab.Machine) (Picture, error) {
	return pictureBut(ctx, e, m, "-path /var/lib/etcd -o -path /var/lib/containerd -o -path /run/containerd -o -path /run/runc -o -path /var/log -o")
}

// pictureBut takes a picture without the files that live, an expression of find, matches.
func pictureBut(ctx context.Context, e *Env, m lab.Machine, live string) (Picture, error) {
	r, err := e.On(ctx, m, "export SYSTEMD_BUS_TIMEOUT=300\nlive='"+live+"'\n"+pictureScript, "sh")
	if err != nil {
		return nil, err
	}
	if err := r.Want("take a picture of "+m.Name(), 0); err != nil {
		return nil, err
	}
	p := Picture{}
	lines := bufio.NewScanner(strings.NewReader(r.Stdout))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p[lines.Text()]++
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("take a picture of %s: %w", m.Name(), err)
	}
	if r.Stderr != "" { // the picture may be incomplete
		return nil, fmt.Errorf("take a picture of %s: %s", m.Name(), r.Stderr)
	}
	return p, nil
}

// difference returns the removed lines ("- ") and the new lines ("+ ") since before.
func (p Picture) difference(before Picture) []string {
	var lines []string
	for line, n := range before {
		if p[line] < n {
			lines = append(lines, "- "+line)
		}
	}
	for line, n := range p {
		if before[line] < n {
			lines = append(lines, "+ "+line)
		}
	}
	// Put the old and the new line of a change next to each other.
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[2:]+a[:1], b[2:]+b[:1]) })
	return lines
}

// Exception is an allowed difference.
type Exception struct {
	Lines string // a regular expression
	Why   string
}

// MatchesPicture takes a picture and compares it with an earlier one. It allows only the
// exceptions.
func (e *Env) MatchesPicture(ctx context.Context, m lab.Machine, before Picture, exceptions ...Exception) error {
	now, err := e.Picture(ctx, m)
	if err != nil {
		return err
	}
	return Equal(e, now, before, m.Name(), exceptions...)
}

// Equal compares two pictures. It allows only the exceptions.
func Equal(e *Env, now, before Picture, what string, exceptions ...Exception) error {
	lines := now.difference(before)
	for _, x := range exceptions {
		pattern, err := regexp.Compile(x.Lines)
		if err != nil {
			return err
		}
		lines = slices.DeleteFunc(lines, pattern.MatchString)
	}
	if len(lines) == 0 {
		return nil
	}
	name, _, _ := strings.Cut(what, ",")
	all := filepath.Join(e.Work, strings.ReplaceAll(name, " ", "-")+".differences")
	if err := os.WriteFile(all, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		return err
	}
	return fmt.Errorf("%s has changed: %d differences, all in %s\n%s", what, len(lines), all, strings.Join(lines[:min(len(lines), 40)], "\n"))
}
