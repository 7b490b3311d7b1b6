package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"airgap.dev/airgap/e2e/execs"
	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/secrets"
)

// A verdict collects the findings. It contains the names of secrets, not their values.
type verdict struct {
	mu      sync.Mutex
	wrong   []string
	control control
}

func (v *verdict) add(where string, s secrets.Secret, why string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s.Kind == secrets.Control && v.control.found(where, s) {
		return
	}
	v.wrong = append(v.wrong, fmt.Sprintf("%s has %s (%s): %s", where, s.Kind, s.Name, why))
}

func (v *verdict) loose(where, why string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.wrong = append(v.wrong, where+": "+why)
}

func (v *verdict) error() error {
	if err := v.control.missing(); err != nil {
		return err
	}
	if len(v.wrong) == 0 {
		return nil
	}
	slices.Sort(v.wrong)
	v.wrong = slices.Compact(v.wrong)
	return fmt.Errorf("%d secrets out of place:\n  %s", len(v.wrong), strings.Join(v.wrong, "\n  "))
}

// judge searches all places for all secrets in the book, after the job.
func (g *guard) judge(ctx context.Context, programs execs.Count) error {
	began := time.Now()
	if programs.Lost > 0 {
		return fmt.Errorf("the watch lost %d of %d programs", programs.Lost, programs.Lost+programs.Execs)
	}
	if err := errors.Join(g.running(), g.runningInside(ctx), g.collectInside(ctx), g.signingKeys()); err != nil {
		return err
	}
	list := g.Book.List()
	s := secrets.NewSearch(append(list, secrets.AnyKey()))
	v := &verdict{control: g.control}
	var files, size int64
	for _, m := range g.lab.Machines {
		n, b, err := g.judgeServer(ctx, m, s, v)
		if err != nil {
			return fmt.Errorf("search for secrets on %s: %w", m.Name(), err)
		}
		files, size = files+n, size+b
	}
	n, b, err := g.judgeOutside(s, v)
	if err != nil {
		return fmt.Errorf("search for secrets on the connected host: %w", err)
	}
	g.judgeStarted(s, v)
	g.judgeReplies(s, v)
	fmt.Fprintf(g.Log, "%s: searched for %d secrets in %d files (%.1f GB), %d program starts, %d command outputs, in %.1f s\n",
		g.run, len(list), files+n, float64(size+b)/1e9, programs.Execs, len(g.replies), time.Since(began).Seconds())
	return v.error()
}

// judgeServer searches a server's files and its journal.
func (g *guard) judgeServer(ctx context.Context, m lab.Machine, s *secrets.Search, v *verdict) (files, size int64, err error) {
	groups, err := groupsOf(ctx, m)
	if err != nil {
		return 0, 0, err
	}
	j := &judging{verdict: v, server: m.Name(), groups: groups, rules: append(secrets.Rules(), g.Rules...)}
	if c, ok := m.(container); ok {
		files, size, err = j.fromOutside(c, s)
	} else {
		files, size, err = j.fromInside(ctx, m, s)
	}
	return files, size, errors.Join(err, g.judgeJournal(ctx, m, s, v))
}

// judging is the verdict on one server's files.
type judging struct {
	*verdict
	server string
	groups map[uint32]string
	rules  []secrets.Rule
}

func (j *judging) passed(f secrets.File) {
	if why := secrets.WritableByOthers(f); why != "" {
		j.loose(j.server+":"+f.Path, why)
	}
}

// found checks whether the secrets in a file are allowed there; read returns its content.
func (j *judging) found(f secrets.File, has []secrets.Secret, read func() ([]byte, error)) {
	for _, secret := range onlyKeys(has, read) {
		if why := secrets.Judge(j.rules, f, secret, j.groups); why != "" {
			j.add(j.server+":"+f.Path, secret, why)
		}
	}
}

// fromOutside reads a container's trees.
func (j *judging) fromOutside(m container, s *secrets.Search) (files, size int64, err error) {
	scan := &secrets.Scan{Search: s, Passed: j.passed}
	err = m.Look(func(trees []lab.Tree) error {
		for _, t := range trees {
			scan.Found = func(f secrets.File, has []secrets.Secret) {
				j.found(f, has, func() ([]byte, error) { return secrets.ReadFile(outerPath(t, f.Path)) })
			}
			if err := scan.Tree(t.Outer, t.Inner); err != nil {
				return err
			}
		}
		return nil
	})
	files, size = scan.Read()
	return files, size, err
}

func outerPath(t lab.Tree, path string) string {
	return filepath.Join(t.Outer, strings.TrimPrefix(path, strings.TrimSuffix(t.Inner, "/")))
}

// onlyKeys removes the match for any key if a known key was found in the file, or if the
// match is only a part of a program.
func onlyKeys(has []secrets.Secret, read func() ([]byte, error)) []secrets.Secret {
	known := slices.ContainsFunc(has, func(s secrets.Secret) bool { return s.Kind == secrets.Key && !s.IsAnyKey() })
	return slices.DeleteFunc(has, func(s secrets.Secret) bool {
		if !s.IsAnyKey() {
			return false
		}
		text, err := read()
		return known || err != nil || !secrets.LooksLikeKey(text)
	})
}

// judgeJournal reads the whole journal with all its fields.
func (g *guard) judgeJournal(ctx context.Context, m lab.Machine, s *secrets.Search, v *verdict) error {
	r, w := io.Pipe()
	go func() {
		w.CloseWithError(m.Exec(ctx, lab.Cmd{Args: []string{"journalctl", "--quiet", "--no-pager", "--output=export"}, Stdout: w}))
	}()
	has, _, err := s.InReader(r, make([]byte, 1<<20))
	for _, secret := range has {
		if !secret.IsAnyKey() {
			v.add(m.Name()+": journal", secret, "the journal must contain no secrets")
		}
	}
	return err
}

// judgeStarted searches arguments and environments of programs.
func (g *guard) judgeStarted(s *secrets.Search, v *verdict) {
	for text := range g.started {
		for _, secret := range s.In([]byte(text.text)) {
			if secret.Kind != secrets.Ambient || !text.mayHave() {
				v.add(text.String(), secret, "every user may read arguments, and children inherit variables")
			}
		}
	}
}

// judgeReplies searches the outputs of commands. Only commands that create a token may print
// it.
func (g *guard) judgeReplies(s *secrets.Search, v *verdict) {
	for _, a := range g.replies {
		for _, secret := range s.In([]byte(a.stdout)) {
			if result := secret.Kind == secrets.Code || secret.Kind == secrets.Seal; !result || !a.givesCode() {
				v.add("stdout of "+a.command, secret, "the secret is not a result of this command")
			}
		}
		for _, secret := range s.In([]byte(a.stderr)) {
			v.add("stderr of "+a.command, secret, "errors and progress must contain no secrets")
		}
	}
}

// judgeOutside searches the stick, the bundle and the facts. The builder's keys must be only
// in their directory.
func (g *guard) judgeOutside(s *secrets.Search, v *verdict) (files, size int64, err error) {
	rules := []secrets.Rule{
		{Path: "/config/airgap/keys/*", Kinds: []secrets.Kind{secrets.SigningKey, secrets.Key}, Mode: 0o600, Why: "the builder's"},
		{Path: "/site.key", Kinds: []secrets.Kind{secrets.SigningKey, secrets.Key}, Mode: 0o600, Why: "the site's key, for --sign-key"},
		{Path: "/" + hostsKey, Kinds: []secrets.Kind{secrets.Key}, Mode: 0o600, Why: "the login on hosts through plain SSH"},
		{Path: "/docker/config.json", Kinds: []secrets.Kind{secrets.Password}, Mode: 0o600, Why: "the usual file for logins"},
	}
	j := &judging{verdict: v, server: "connected host", rules: rules}
	scan := &secrets.Scan{Search: s, Found: func(f secrets.File, has []secrets.Secret) {
		j.found(f, has, func() ([]byte, error) { return secrets.ReadFile(filepath.Join(g.Work, f.Path)) })
	}}
	err = scan.Tree(g.Work, "/")
	files, size = scan.Read()
	return files, size, err
}

// signingKeys adds the builder's keys to the book.
func (g *guard) signingKeys() error {
	dir := filepath.Join(g.Work, "config", "airgap", "keys")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was bundled
	}
	for _, entry := range entries {
		text, readErr := os.ReadFile(filepath.Join(dir, entry.Name()))
		err = errors.Join(err, readErr)
		if secrets.LooksLikeKey(text) {
			err = errors.Join(err, g.Book.AddKey(secrets.SigningKey, entry.Name(), text))
		}
	}
	return err
}

// groupsOf reads the names of a server's groups.
func groupsOf(ctx context.Context, m lab.Machine) (map[uint32]string, error) {
	text, err := lab.Output(ctx, m, "cat", "/etc/group")
	groups := map[uint32]string{}
	for line := range strings.Lines(text) {
		if fields := strings.Split(line, ":"); len(fields) > 2 {
			if id, err := strconv.ParseUint(fields[2], 10, 32); err == nil {
				groups[uint32(id)] = fields[0]
			}
		}
	}
	return groups, err
}
