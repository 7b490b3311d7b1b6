// Package sshconfig reads the client configuration of OpenSSH, ~/.ssh/config, for one host.
//
// It knows the settings that airgap follows. A setting that would change which machine is reached, and that airgap
// cannot follow, is a problem with its line. All other settings have no effect on airgap.
package sshconfig

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"airgap.dev/airgap/internal/host"
)

// Value is a setting with its place, FILE:LINE. The zero value is a missing setting.
type Value struct{ Text, From string }

// Settings are the settings of one host.
type Settings struct {
	HostName, User, Port, ProxyJump, HostKeyAlias, IdentitiesOnly Value

	IdentityFiles, CertificateFiles, KnownHosts []Value

	// Problems are settings that airgap cannot follow, and that change who is reached.
	Problems []Problem
}

// Problem is a setting that airgap cannot follow.
type Problem struct {
	Keyword string // in lower case
	Text    string // with its line
}

// Query is the host to find settings for.
type Query struct {
	Names []string // of the host: the node's, and its address
	User  string   // of airgap.yaml; "" if it has none
	Local string   // the user who runs airgap
	Home  string   // of the owner of the file
}

// maxFile, in bytes, is far more than a configuration has; maxDepth is OpenSSH's limit of Include.
const (
	maxFile  = 1 << 20
	maxDepth = 16
)

// Read returns the settings for a host. A file that does not exist has none.
func Read(file string, q Query) (*Settings, error) {
	r := &reader{query: q, found: &Settings{}, dir: filepath.Dir(file), block: block{applies: true}}
	if err := r.file(file, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the SSH configuration: %w", err)
	}
	return r.found, nil
}

// reader is in one block at a time.
type reader struct {
	block

	query Query
	found *Settings
	dir   string // of relative files
}

// block is the lines after a Host or Match. Those of a file are inside the block with its Include.
type block struct {
	applies bool
	unclear string // the criterion of a Match that airgap cannot decide; the block may apply
}

func (r *reader) file(file string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%s: more than %d levels of Include", file, maxDepth)
	}
	text, err := readOwned(file)
	if err != nil {
		return err
	}
	around := r.block
	defer func() { r.block = around }()
	for i, line := range bytes.Split(text, []byte("\n")) {
		place := fmt.Sprintf("%s:%d", file, i+1)
		words, err := split(string(line))
		if err == nil && len(words) == 1 {
			err = fmt.Errorf("%s has no value", words[0])
		}
		if err == nil && len(words) > 0 {
			err = r.line(strings.ToLower(words[0]), words[1:], place, depth, around)
		}
		if _, is := errors.AsType[*placed](err); err != nil && !is {
			err = &placed{place, err}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// placed is an error with its line.
type placed struct {
	place string
	error
}

func (p *placed) Error() string { return p.place + ": " + p.error.Error() }
func (p *placed) Unwrap() error { return p.error }

// readOwned reads a file with the rights of its owner. Others must not be able to write to it.
func readOwned(file string) (text []byte, err error) {
	err = host.AsOwner(file, func() error {
		f, err := os.OpenFile(file, os.O_RDONLY|unix.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		if mode := info.Mode(); !mode.IsRegular() || mode.Perm()&0o022 != 0 {
			return fmt.Errorf("%s: mode is %#o, so others can change it: want 0600 or 0644", file, mode.Perm())
		}
		text, err = io.ReadAll(io.LimitReader(f, maxFile+1))
		if err == nil && len(text) > maxFile {
			err = fmt.Errorf("%s: larger than %d bytes", file, maxFile)
		}
		return err
	})
	return text, err
}

// line reads a line of a file that is in the block around.
func (r *reader) line(keyword string, args []string, place string, depth int, around block) error {
	switch keyword {
	case "host":
		r.block = block{around.applies && r.matches(args), around.unclear}
	case "match":
		is, unclear, err := r.match(args)
		if err != nil {
			return err
		}
		r.block = block{around.applies && is, cmp.Or(unclear, around.unclear)}
	case "include":
		if r.applies {
			return r.include(args, depth)
		}
	default:
		if r.applies {
			r.set(keyword, args, place)
		}
	}
	return nil
}

func (r *reader) include(patterns []string, depth int) error {
	for _, p := range patterns {
		p = r.home(p)
		if !filepath.IsAbs(p) {
			p = filepath.Join(r.dir, p)
		}
		files, err := filepath.Glob(p)
		if err != nil {
			return fmt.Errorf("Include %s: %w", p, err) //nolint:staticcheck // the keyword of OpenSSH
		}
		for _, f := range files {
			if err := r.file(f, depth+1); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

func (r *reader) home(path string) string {
	if rest, is := strings.CutPrefix(path, "~/"); is {
		return filepath.Join(r.query.Home, rest)
	}
	return path
}

// set takes a setting. The first value counts; files add up.
func (r *reader) set(keyword string, args []string, place string) {
	s := r.found
	one := map[string]*Value{"hostname": &s.HostName, "user": &s.User, "port": &s.Port, "hostkeyalias": &s.HostKeyAlias,
		"proxyjump": &s.ProxyJump, "proxycommand": &s.ProxyJump, "identitiesonly": &s.IdentitiesOnly}
	files := map[string]*[]Value{"identityfile": &s.IdentityFiles, "certificatefile": &s.CertificateFiles, "userknownhostsfile": &s.KnownHosts}
	to := one[keyword]
	switch {
	case to == nil && files[keyword] == nil, to != nil && to.Text != "", keyword == "userknownhostsfile" && len(s.KnownHosts) > 0:
	case to != nil && r.unclear != "":
		s.problem(keyword, "%s: %s is in a block with Match %s, which airgap cannot decide", place, keyword, r.unclear)
	case r.unclear != "": // keys that may be missing
	case keyword == "proxyjump":
		*to = Value{strings.Join(args, ""), place}
	case keyword == "proxycommand":
		*to = r.command(args, place)
	case to != nil:
		*to = Value{r.expand(args[0]), place}
	default:
		for _, a := range args {
			if a != "none" {
				*files[keyword] = append(*files[keyword], Value{r.expand(r.home(a)), place})
			}
		}
	}
}

func (s *Settings) problem(keyword, format string, args ...any) {
	s.Problems = append(s.Problems, Problem{keyword, fmt.Sprintf(format, args...)})
}

// command reads a ProxyCommand: "none", or ssh -W as people wrote it before ProxyJump. Others are a problem.
func (r *reader) command(args []string, place string) Value {
	words := strings.Fields(strings.Join(args, " "))
	if len(words) == 0 || len(words) == 1 && strings.EqualFold(words[0], "none") {
		return Value{"none", place}
	}
	if path.Base(words[0]) == "ssh" {
		rest := slices.DeleteFunc(slices.Clone(words[1:]), func(w string) bool { return w == "-q" || w == "-W" || w == "%h:%p" || w == "[%h]:%p" })
		if len(rest) == 1 && len(words)-len(rest) >= 3 && !strings.HasPrefix(rest[0], "-") {
			return Value{rest[0], place}
		}
	}
	r.found.problem("proxycommand", "%s: ProxyCommand %s is a program that airgap does not run", place, strings.Join(words, " "))
	return Value{"none", place}
}

// expand replaces the tokens of OpenSSH that airgap can know.
func (r *reader) expand(text string) string {
	return strings.NewReplacer("%%", "%", "%h", r.query.Names[0], "%n", r.query.Names[0], "%d", r.query.Home, "%u", r.query.Local, "${HOME}", r.query.Home).Replace(text)
}

// match decides a Match. unclear is the criterion that airgap cannot decide, if the others match.
func (r *reader) match(args []string) (is bool, unclear string, err error) {
	is = true
	for len(args) > 0 {
		criterion, negated := strings.CutPrefix(args[0], "!")
		args = args[1:]
		name, value, joined := strings.Cut(criterion, "=")
		name = strings.ToLower(name)
		if name == "all" {
			continue
		}
		if name == "canonical" || name == "final" {
			unclear = name
			continue
		}
		if !joined {
			if len(args) == 0 {
				return false, "", fmt.Errorf("Match %s has no value", name) //nolint:staticcheck // the keyword of OpenSSH
			}
			value, args = args[0], args[1:]
		}
		patterns := strings.Split(value, ",")
		var fits bool
		switch name {
		case "host", "originalhost":
			fits = r.matches(strings.Split(strings.ToLower(value), ","))
		case "user":
			user := r.query.User
			if user == "" {
				user = r.found.User.Text
			}
			if user == "" {
				user = "root" // airgap's default
			}
			fits = matchesAny(patterns, user)
		case "localuser":
			fits = matchesAny(patterns, r.query.Local)
		default:
			unclear = name
			continue
		}
		is = is && fits != negated
	}
	if !is {
		unclear = ""
	}
	return is, unclear, nil
}

// matches reports whether a list of patterns has the host, by one of its names. As in OpenSSH, case counts in a Host line.
func (r *reader) matches(patterns []string) bool {
	is := false
	for _, name := range r.query.Names {
		for _, p := range patterns {
			if rest, negated := strings.CutPrefix(p, "!"); negated && wildcard(rest, name) {
				return false
			}
		}
		is = is || matchesAny(patterns, name)
	}
	return is
}

func matchesAny(patterns []string, text string) bool {
	is := false
	for _, p := range patterns {
		rest, negated := strings.CutPrefix(p, "!")
		if !wildcard(rest, text) {
			continue
		}
		if negated {
			return false
		}
		is = true
	}
	return is
}

// wildcard matches * and ?.
func wildcard(pattern, text string) bool {
	for i, c := range []byte(pattern) {
		switch {
		case c == '*':
			for j := range len(text) - i + 1 {
				if wildcard(pattern[i+1:], text[i+j:]) {
					return true
				}
			}
			return false
		case i >= len(text) || c != '?' && c != text[i]:
			return false
		}
	}
	return len(pattern) == len(text)
}

// Number is a port.
func (v Value) Number() (int, error) {
	n, err := strconv.Atoi(v.Text)
	if err != nil || n < 1 || n > 65535 {
		return 0, fmt.Errorf("%s: Port %s: want a number from 1 to 65535", v.From, v.Text)
	}
	return n, nil
}
