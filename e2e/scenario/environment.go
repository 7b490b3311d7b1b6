package scenario

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/secrets"
)

// environment returns variables with passwords, as a user's shell may have them. airgap may
// use them, but must not pass them to the programs that it runs.
func environment(e *Env) ([]string, error) {
	var all []string
	for _, v := range []struct{ name, format string }{
		{"HTTPS_PROXY", "http://bank:%s@proxy.bank.example:3128"},
		{"BANK_PASSWORD", "%s"},
	} {
		value := rand.Text()
		if err := e.Book.Add(secrets.Ambient, v.name, value); err != nil {
			return nil, err
		}
		all = append(all, v.name+"="+fmt.Sprintf(v.format, value))
	}
	return all, nil
}

// login writes credentials for the mirror to the connected host's Docker configuration.
func (e *Env) login() error {
	value := rand.Text()
	if err := e.Book.Add(secrets.Password, "the mirror's", value); err != nil {
		return err
	}
	auth := base64.StdEncoding.EncodeToString([]byte("bank:" + value))
	text := fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, strings.TrimPrefix(e.Upstream.URL, "https://"), auth)
	dir := filepath.Join(e.Work, "docker")
	return errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o600))
}

// umask returns the caller's umask: that of a hardened host for install, 0000 for other
// commands. airgap must work with both.
func umask(verb string) string {
	if verb == "install" {
		return "0077"
	}
	return "0000"
}

// mayHave reports whether the program is allowed to have the variables of environment:
// the lab's programs, the shell that calls airgap, and airgap.
func (s started) mayHave() bool {
	if s.variable {
		return s.program == "airgap" || s.program == "sh"
	}
	return s.program == "env" || s.program == "nsenter" || s.program == "sh"
}

// PlantObject creates a Secret in the cluster, as an application does, and adds its value to
// the book.
func PlantObject(ctx context.Context, e *Env, m lab.Machine) error {
	value := rand.Text()
	if err := e.Book.Add(secrets.Object, "default/bank", value); err != nil {
		return err
	}
	object := fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: bank}, data: {password: %s}}\n", base64.StdEncoding.EncodeToString([]byte(value)))
	r, err := e.On(ctx, m, object, "sh", "-c", Kubectl+"create -f -")
	if err != nil {
		return err
	}
	return r.Want("create a Secret", 0)
}
