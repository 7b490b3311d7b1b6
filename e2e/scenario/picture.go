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

// picture is what a host is like: files, packages, units, processes, kernel
// settings, network, packet filter. Lines of picture.sh, with their number.
type picture map[string]int

func (e *Env) picture(ctx context.Context, m lab.Machine) (picture, error) {
	return pictureBut(ctx, e, m, "")
}

func (e *Env) takePicture(ctx context.Context, m lab.Machine, to *picture) (err error) {
	*to, err = e.picture(ctx, m)
	return err
}

// livePicture leaves out what a running cluster writes all the time: the data
// of etcd and containerd, and logs.
func livePicture(ctx context.Context, e *Env, m lab.Machine) (picture, error) {
	return pictureBut(ctx, e, m, "-path /var/lib/etcd -o -path /var/lib/containerd -o -path /run/containerd -o -path /run/runc -o -path /var/log -o")
}

// pictureBut leaves out what an expression for find matches.
func pictureBut(ctx context.Context, e *Env, m lab.Machine, live string) (picture, error) {
	r, err := e.On(ctx, m, "export SYSTEMD_BUS_TIMEOUT=300\nlive='"+live+"'\n"+pictureScript, "sh")
	if err != nil {
		return nil, err
	}
	if err := r.want("take a picture of "+m.Name(), 0); err != nil {
		return nil, err
	}
	p := picture{}
	lines := bufio.NewScanner(strings.NewReader(r.Stdout))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p[lines.Text()]++
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("take a picture of %s: %w", m.Name(), err)
	}
	if r.Stderr != "" { // half a picture equals other halves
		return nil, fmt.Errorf("take a picture of %s: %s", m.Name(), r.Stderr)
	}
	return p, nil
}

// difference is what is gone since before ("- ") and what has come ("+ ").
func (p picture) difference(before picture) []string {
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
	// What is gone and what has come stand together.
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[2:]+a[:1], b[2:]+b[:1]) })
	return lines
}

// exception is a difference that is as it should be.
type exception struct{ lines, why string }

// asBefore takes a picture and wants it to equal an earlier one but for the
// exceptions.
func (e *Env) asBefore(ctx context.Context, m lab.Machine, before picture, exceptions ...exception) error {
	now, err := e.picture(ctx, m)
	if err != nil {
		return err
	}
	return equal(e, now, before, m.Name(), exceptions...)
}

// equal wants two pictures to be the same but for the exceptions.
func equal(e *Env, now, before picture, what string, exceptions ...exception) error {
	lines := now.difference(before)
	for _, x := range exceptions {
		pattern, err := regexp.Compile(x.lines)
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
	return fmt.Errorf("%s is not as it was: %d differences, all in %s\n%s", what, len(lines), all, strings.Join(lines[:min(len(lines), 40)], "\n"))
}
