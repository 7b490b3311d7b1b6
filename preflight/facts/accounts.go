package facts

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Account has the dates of a login in /etc/shadow. The hash of the password is never read into it.
type Account struct {
	Name     string `yaml:"name" json:"name"`
	Line     int    `yaml:"line" json:"line"`         // of /etc/shadow
	Password string `yaml:"password" json:"password"` // PasswordSet, PasswordLocked or PasswordNone
	// Login is true for the user who has logged in, also with a key.
	Login bool `yaml:"login,omitempty" json:"login,omitempty"`
	// Days since 1970; -1 for none. Changed is 0 for a password that must be changed at the next login.
	Changed int `yaml:"changed" json:"changed"`
	Max     int `yaml:"max" json:"max"`         // days after Changed
	Expires int `yaml:"expires" json:"expires"` // of the account
}

// States of a password.
const (
	PasswordSet    = "set"
	PasswordLocked = "locked"
	PasswordNone   = "none"
)

const (
	shadowFile = "etc/shadow"
	passwdFile = "etc/passwd"
	// loginUID is the user who has logged in; sudo and su keep it.
	loginUID = "proc/self/loginuid"
)

// Limits of the files with users.
const (
	maxShadowLines = 10_000
	maxShadowLine  = 1024
)

// readAccounts reads only the accounts that an installation depends on: root, and the user who has
// logged in to run the survey or airgap.
func readAccounts(_ context.Context, r reader, f *Facts) error {
	shadow, err := r.content(shadowFile)
	if err != nil {
		return err
	}
	uid, err := r.optional(loginUID)
	if err != nil {
		return err
	}
	users, err := r.content(passwdFile)
	if err != nil {
		return err
	}
	user := userName(users, uid)
	f.Accounts, f.OddAccounts = parseShadow(shadow, "root", user)
	for i := range f.Accounts {
		f.Accounts[i].Login = f.Accounts[i].Name == user
	}
	return nil
}

// userName is the name of a user in /etc/passwd; "" for users of a domain, and for no user.
func userName(users, uid string) string {
	for _, line := range firstLines(users) {
		if fields := strings.Split(line, ":"); len(fields) > 2 && fields[2] == uid && uid != "" {
			return fields[0]
		}
	}
	return ""
}

// firstLines are the lines of a file, without long ones.
func firstLines(text string) []string {
	lines := strings.SplitN(text, "\n", maxShadowLines+1)
	lines = lines[:min(len(lines), maxShadowLines)]
	for i, line := range lines {
		if len(line) > maxShadowLine {
			lines[i] = ""
		}
	}
	return lines
}

// parseShadow reads the lines of some users as shadow(5) describes them. The first line of a user
// counts. odd names lines with dates that are no numbers.
func parseShadow(text string, names ...string) (accounts []Account, odd []string) {
	var seen []string
	for i, line := range firstLines(text) {
		fields := strings.Split(line, ":")
		name := fields[0]
		if name == "" || !slices.Contains(names, name) || slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		a, err := parseAges(fields)
		if err != nil {
			odd = append(odd, fmt.Sprintf("/%s:%d: the line of %s has wrong dates", shadowFile, i+1, name))
			continue
		}
		a.Line = i + 1
		accounts = append(accounts, a)
	}
	return accounts, odd
}

// parseAges reads name, password, changed, min, max, warn, inactive, expires and a reserved field.
func parseAges(fields []string) (Account, error) {
	a := Account{Name: fields[0], Password: PasswordSet}
	if len(fields) < 8 {
		return a, fmt.Errorf("parse a line of shadow: %d fields", len(fields))
	}
	switch {
	case fields[1] == "":
		a.Password = PasswordNone
	case strings.ContainsAny(fields[1][:1], "!*"):
		a.Password = PasswordLocked
	}
	for i, into := range map[int]*int{2: &a.Changed, 4: &a.Max, 7: &a.Expires} {
		*into = -1
		if fields[i] == "" {
			continue
		}
		n, err := strconv.ParseInt(fields[i], 10, 32)
		if err != nil {
			return a, err
		}
		*into = max(int(n), -1)
	}
	return a, nil
}
