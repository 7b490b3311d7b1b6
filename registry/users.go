package registry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/crypto/bcrypt"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

// Users is the htpasswd file of the users who may push: one line per user, "NAME:HASH" with a bcrypt
// hash, and comments with their prefixes (see grant). The registry sees changes at once.
type Users struct {
	File  string // /etc/airgap/registry.htpasswd
	Group string // group that may read it; "": only root
}

// hashCost is the bcrypt cost: comparing one password takes a good part of a second.
const hashCost = 12

// Set adds the user, or changes the user's password, which has at most 72 bytes. With prefixes, the
// user may push only to names below them. A single "" removes the limit. Without prefixes, an
// existing limit stays.
func (u Users) Set(name, password string, prefixes ...string) error {
	invalid := func(r rune) bool { return r == ':' || r == '#' || unicode.IsSpace(r) || !unicode.IsPrint(r) }
	if name == "" || strings.ContainsFunc(name, invalid) {
		return fmt.Errorf("user %q: a name must not contain a colon, a space or #", name)
	}
	if password == "" {
		return errors.New("the password is empty")
	}
	limit, err := limitLine(name, prefixes)
	if err != nil {
		return err
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(password), hashCost)
	if err != nil {
		return err // it does not contain the password
	}
	lines, err := u.without(name)
	if err != nil {
		return err
	}
	if len(prefixes) > 0 {
		lines = withoutLimit(lines, name)
	}
	return u.write(append(lines, append(limit, name+":"+string(hash))...))
}

// Remove removes the user, and the file with the last user. It returns false if the user does not
// exist.
func (u Users) Remove(name string) (bool, error) {
	lines, err := u.without(name)
	if err != nil {
		return false, err
	}
	names, err := u.Names()
	if err != nil || !slices.Contains(names, name) {
		return false, err
	}
	if lines = withoutLimit(lines, name); len(lines) == 0 {
		return true, host.Remove(u.File)
	}
	return true, u.write(lines)
}

// Names returns the users in the order of the file. Without a file there are none.
func (u Users) Names() ([]string, error) {
	lines, err := u.lines()
	var names []string
	for _, line := range lines {
		if name, _, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, "#") {
			names = append(names, name)
		}
	}
	return names, err
}

func (u Users) lines() ([]string, error) {
	content, err := os.ReadFile(u.File)
	if host.IgnoreMissing(err) != nil {
		return nil, fmt.Errorf("read users of the registry: %w", err)
	}
	return slices.DeleteFunc(strings.Split(string(content), "\n"), func(line string) bool { return strings.TrimSpace(line) == "" }), nil
}

func (u Users) without(name string) ([]string, error) {
	lines, err := u.lines()
	return slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, name+":") }), err
}

func (u Users) write(lines []string) error {
	return host.WriteForGroup(u.File, []byte(strings.Join(lines, "\n")+"\n"), 0o640, u.Group)
}

// UsersStep writes the file of users who may push, copied from another host. Undo removes it.
func UsersStep(u Users, file []byte) step.Step {
	return step.Step{
		Name: "users", Title: "Copy the registry's users who may push",
		Done: func(context.Context) (bool, error) { return host.FileMatches(u.File, file, 0o640) },
		Plan: func(context.Context) ([]string, error) {
			return host.PlanFiles(map[string][]byte{u.File: file}, 0o640)
		},
		Run: func(context.Context) error {
			return host.WriteForGroup(u.File, file, 0o640, u.Group)
		},
		Undo: func(context.Context) error { return host.Remove(u.File) },
	}
}
