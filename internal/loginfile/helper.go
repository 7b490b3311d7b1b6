package loginfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/docker/docker-credential-helpers/client"
	"github.com/docker/docker-credential-helpers/credentials"
	"github.com/google/go-containerregistry/pkg/authn"
)

// helperTime is the time limit for a credential helper, which may wait for a dialog that nobody sees.
const helperTime = 30 * time.Second

// tokenUser is the user name with which a helper marks an identity token.
const tokenUser = "<token>"

// ask returns the login that a credential helper has for a server; nil without one.
func ask(ctx context.Context, helper, server string) (*authn.AuthConfig, error) {
	if _, err := exec.LookPath(helper); err != nil {
		return nil, errors.New("no such credential helper in PATH")
	}
	ctx, cancel := context.WithTimeout(ctx, helperTime)
	defer cancel()
	found, err := client.Get(func(args ...string) client.Program { return newProgram(ctx, helper, args) }, server)
	switch {
	case credentials.IsErrCredentialsNotFound(err):
		return nil, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("the credential helper did not answer within %s", helperTime)
	case err != nil:
		return nil, fmt.Errorf("the credential helper failed: %.200s", strings.Join(strings.Fields(err.Error()), " "))
	case found.Username == tokenUser:
		return &authn.AuthConfig{IdentityToken: found.Secret}, nil
	case found.Username == "" && found.Secret == "":
		return nil, nil
	}
	return &authn.AuthConfig{Username: found.Username, Password: found.Secret}, nil
}

// program is a client.Program with a time limit.
type program struct{ cmd *exec.Cmd }

func (p *program) Output() ([]byte, error) { return p.cmd.Output() }
func (p *program) Input(in io.Reader)      { p.cmd.Stdin = in }

func newProgram(ctx context.Context, helper string, args []string) *program {
	cmd := exec.CommandContext(ctx, helper, args...)
	cmd.WaitDelay = time.Second // a child that it leaves behind may hold its output open
	return &program{cmd}
}
