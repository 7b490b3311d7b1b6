package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/registry"
)

type pushOptions struct {
	keys     []string
	ca, user string
}

func (a *app) push() *cobra.Command {
	var o pushOptions
	cmd := &cobra.Command{
		Use:   "push DIR [REGISTRY]",
		Short: "Bring a bundle's images into a registry that the site has already",
		Long: `Pushes the images of the bundle in DIR to REGISTRY, a Harbor, a Nexus or any other
that follows the OCI distribution specification: HOST or HOST:PORT with the project
behind it. Left out, it is the one that airgap.yaml names under registry.existing,
from which the nodes then pull.

docker.io/library/nginx:1.27 becomes REGISTRY/docker.io/library/nginx:1.27. What is
there is not sent again, so an interrupted push goes on; a delta's base has to be
there. A tag that named another image is moved, and the output says so. Most
registries refuse an image index of which the bundle has one platform only: the tag
names that platform's manifest then, which the output says, too.

Credentials are those of podman login or docker login, or --user's, whose password
is asked for, or read as one line from standard input. Plain HTTP is refused.`,
		Example: "  airgap push /media/stick/bank harbor.bank.example/airgap --ca /etc/pki/bank-ca.crt --user robot\n  airgap push /media/stick/bank",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return advice.Usagef("airgap push: give the bundle's directory, and the registry where airgap.yaml names none")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.runPush(cmd.Context(), args, o) },
	}
	keyFlags(cmd, &o.keys)
	cmd.Flags().StringVar(&o.ca, "ca", "", "PEM file with the certificate of the registry's authority; default: airgap.yaml's, else what this host trusts")
	cmd.Flags().StringVar(&o.user, "user", "", "log in as this user; default: whoever podman or docker has logged in")
	return cmd
}

func (a *app) runPush(ctx context.Context, args []string, o pushOptions) error {
	b, _, err := site.Open(args[0], o.keys)
	if err != nil {
		return err
	}
	v := bundle.NewView(b)
	defer v.Close()
	to, err := existingFor(b.Index(), args[1:], o.ca)
	if err != nil {
		return err
	}
	var login authn.Authenticator
	if o.user != "" {
		password, err := a.ask(ctx, "Password for "+o.user+" at "+to.Address+": ", true)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		login = &authn.Basic{Username: o.user, Password: strings.TrimRight(password, "\r\n")}
	}
	pushed, err := to.Push(ctx, v, login, a.newProgress())
	err = explainPush(err)
	if err != nil && len(pushed) == 0 {
		return err
	}
	return errors.Join(a.print(pushed, func(w io.Writer) error { return writePushed(w, to.Address, pushed) }), err)
}

// explainPush says what to do about an answer of the registry.
func explainPush(err error) error {
	var answer *transport.Error
	if errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden) {
		return advice.Add(err, "give --user NAME, or podman login before; the user needs the right to push to the project, and in some registries the project has to be made first")
	}
	return err
}

// existingFor is the registry that is named, or airgap.yaml's.
func existingFor(index *bundle.Index, named []string, caFile string) (registry.Existing, error) {
	c, err := config.ParseStored("airgap.yaml of bundle "+index.Name, []byte(index.Config))
	if err != nil {
		return registry.Existing{}, err
	}
	var to registry.Existing
	if c.Registry.Existing != nil {
		to = *c.Registry.Existing
	}
	if len(named) > 0 && named[0] != to.Address {
		to = registry.Existing{Address: named[0]}
	}
	if to.Address == "" {
		return to, advice.Usagef("airgap push: airgap.yaml names no registry.existing; give HOST/PROJECT")
	}
	if caFile != "" {
		text, err := os.ReadFile(caFile)
		if err != nil {
			return to, fmt.Errorf("read the authority of %s: %w", to.Address, err)
		}
		to.CA = string(text)
	}
	return to, to.Check()
}

// writePushed counts what is as it should be, and lists what somebody may not
// expect.
func writePushed(w io.Writer, address string, all []registry.Pushed) error {
	held := len(slices.DeleteFunc(slices.Clone(all), func(p registry.Pushed) bool { return !p.Unchanged() }))
	if _, err := fmt.Fprintf(w, "%s has %s: %d new, %d there already\n", address, ui.Count(len(all), "image"), len(all)-held, held); err != nil {
		return err
	}
	for _, p := range all {
		if p.Moved() {
			fmt.Fprintf(w, "moved: %s was %s, is %s\n", p.Target, p.Was, p.Digest)
		}
	}
	for _, p := range all {
		if p.Platform {
			fmt.Fprintf(w, "one platform: %s is %s, since the registry takes the index only with all platforms\n", p.Target, p.Digest)
		}
	}
	return nil
}
