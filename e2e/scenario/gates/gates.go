// Package gates has the scenario of the way between the connected host and the servers:
// proxies and mirrors at the builder, gates that change files, and media.
package gates

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/e2e/scenario"
)

// anyCode is for a trial in which the text matters, and not the exit code.
const anyCode = -1

// trial is one gate, proxy or medium with the expected result of airgap.
type trial struct {
	name string
	play func(ctx context.Context, s *stage) (scenario.Result, error)
	code int
	says []string // the file or URL, the cause with its owner, the next step
}

// stage is the place of one trial.
type stage struct {
	*scenario.Env

	good string // directory of a good bundle; trials do not change it
	dir  string // an empty directory
}

// errAbsent skips a trial for which this machine has no program or no file system.
var errAbsent = errors.New("not on this machine")

// Gates plays all trials and reports all failures together. Then it installs a server from media that gates changed.
func Gates(ctx context.Context, e *scenario.Env) error {
	s := &stage{Env: e, good: filepath.Join(e.Work, "good", "bank")}
	config, err := e.Config("airgap.yaml")
	if err != nil {
		return err
	}
	var parts []scenario.Part
	parts = append(parts, scenario.Part{Title: "a good bundle", Run: func() error {
		return e.Do(ctx, 0, nil, "bundle", "-f", config, "-o", filepath.Dir(s.good))
	}})
	var failed []error
	for _, group := range groups() {
		parts = append(parts, scenario.Part{Title: group.title, Run: func() error {
			failed = append(failed, s.playAll(ctx, group.trials)...)
			return ctx.Err()
		}})
	}
	parts = append(parts, scenario.Part{Title: "results", Run: func() error { return errors.Join(failed...) }})
	if err := e.InOrder(parts); err != nil {
		return err
	}
	return visit(ctx, s)
}

type group struct {
	title  string
	trials []trial
}

func groups() []group {
	return []group{
		{"proxies and mirrors", proxyTrials()},
		{"gates that change files", gateTrials()},
		{"gates that take pieces", pieceTrials()},
		{"media", mediumTrials()},
		{"other ways into the site", siteTrials()},
	}
}

func (s *stage) playAll(ctx context.Context, trials []trial) []error {
	var failed []error
	for _, t := range trials {
		began := time.Now()
		state := "ok"
		switch err := s.playOne(ctx, t); {
		case errors.Is(err, errAbsent):
			state = err.Error()
		case err != nil:
			state = "FAILED"
			failed = append(failed, fmt.Errorf("%s: %w", t.name, err))
		}
		fmt.Fprintf(s.Log, "  %-52s %6.1f s  %s\n", t.name, time.Since(began).Seconds(), state)
		if ctx.Err() != nil {
			break
		}
	}
	return failed
}

func (s *stage) playOne(ctx context.Context, t trial) (err error) {
	one := *s
	one.dir = filepath.Join(s.Work, "trial")
	if err := errors.Join(os.RemoveAll(one.dir), os.MkdirAll(one.dir, 0o755)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(one.dir)) }()
	r, err := t.play(ctx, &one)
	if err != nil {
		return err
	}
	code := t.code
	if code == anyCode {
		code = r.Code
	}
	return r.Want(t.name, code, t.says...)
}

// copied returns a copy of the good bundle. Its files are links: a trial replaces a file, and
// never writes into it.
func (s *stage) copied() (string, error) {
	to := filepath.Join(s.dir, "bank")
	if err := os.Mkdir(to, 0o755); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(s.good)
	for _, e := range entries {
		err = errors.Join(err, os.Link(filepath.Join(s.good, e.Name()), filepath.Join(to, e.Name())))
	}
	return to, err
}

// replaceFile changes the content of a file in a copy.
func replaceFile(path string, change func([]byte) []byte) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode()
	}
	return errors.Join(os.Remove(path), os.WriteFile(path, change(text), mode))
}

// key is the fingerprint file of the good bundle's key; a gate may have changed the copy's.
func (s *stage) key() string { return filepath.Join(s.good, "airgap.pub") }

// inspected reads every byte of a bundle.
func (s *stage) inspected(ctx context.Context, dir string) (scenario.Result, error) {
	return s.Airgap(ctx, "inspect", "--full", dir, "--require-key", s.key())
}

// program returns errAbsent if this machine lacks one of the programs.
func program(names ...string) error {
	absent := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, err := exec.LookPath(name)
		return err == nil
	})
	if len(absent) > 0 {
		return fmt.Errorf("%w: %s", errAbsent, strings.Join(absent, ", "))
	}
	return nil
}

// run runs a program of this machine.
func run(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
