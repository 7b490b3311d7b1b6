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

// environment is what a person's shell at a bank may have when airgap is
// called: passwords that are airgap's business, if anybody's, and not that of
// the programs which airgap runs.
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

// login gives the connected host credentials for the mirror, where people have
// theirs.
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

// umask is that of the person who calls airgap: a hardened host's, or a careless
// one's. It makes no difference.
func umask(verb string) string {
	if verb == "install" {
		return "0077"
	}
	return "0000"
}

// handedOver reports whether this is the way on which environment comes: the
// lab's programs take it in, a shell calls airgap, and airgap has it.
func (s started) handedOver() bool {
	if s.variable {
		return s.program == "airgap" || s.program == "sh"
	}
	return s.program == "env" || s.program == "nsenter" || s.program == "sh"
}

// PlantObject puts a Secret into the cluster, as every application does.
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
	return r.Want("make a Secret", 0)
}
