package sshtest

import (
	"errors"
	"slices"
	"sync"

	"golang.org/x/crypto/ssh"
)

// Password lets one password in.
func Password(want string) func(*ssh.ServerConfig) { return (&Account{Password: want}).Setup }

// Account lets one password in, and records all that it gets.
type Account struct {
	Password string
	PAM      bool // asks with keyboard-interactive

	mu    sync.Mutex
	tried []string
}

// Tried returns the passwords that it got.
func (a *Account) Tried() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.tried)
}

// Wrong returns the wrong passwords that it got.
func (a *Account) Wrong() []string {
	return slices.DeleteFunc(a.Tried(), func(p string) bool { return p == a.Password })
}

// Change changes the password.
func (a *Account) Change(password string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.Password, a.tried = password, nil
}

// Setup is for Serve.
func (a *Account) Setup(c *ssh.ServerConfig) {
	if !a.PAM {
		c.PasswordCallback = func(_ ssh.ConnMetadata, p []byte) (*ssh.Permissions, error) { return nil, a.judge(string(p)) }
		return
	}
	c.KeyboardInteractiveCallback = func(_ ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (*ssh.Permissions, error) {
		answers, err := ask("", "", []string{"Password: "}, []bool{false})
		if err != nil || len(answers) != 1 {
			return nil, errors.Join(err, errors.New("no answer"))
		}
		return nil, a.judge(answers[0])
	}
}

func (a *Account) judge(password string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tried = append(a.tried, password)
	if password != a.Password {
		return errors.New("no")
	}
	return nil
}
