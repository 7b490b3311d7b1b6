package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/trust"
)

// pusher is the result of registry passwd.
type pusher struct {
	User     string   `json:"user"`
	Removed  bool     `json:"removed"`
	Prefixes []string `json:"prefixes,omitempty"` // as given now
}

func (a *app) registryPasswd() *cobra.Command {
	var users registry.Users
	var remove bool
	var prefixes []string
	cmd := &cobra.Command{
		Use:   "passwd USER",
		Short: "Let somebody push to this host's registry, or no longer",
		Long: `Lets USER push images of the site's own to this host's registry, with a password
that is asked for, or read as one line from standard input. Everybody may pull.
With --prefix USER may push, and delete, only below these names; without it every
name that is not reserved. Reserved for bundles are the names of all hosts, such
as docker.io/… and registry.k8s.io/…, with a dot or a port in their first part,
and all names that a bundle of this host has or had. Clients have to trust the
registry's authority, ` + trust.PKI{Dir: site.PKIDir}.CAFile() + `; podman and skopeo look for
it in /etc/containers/certs.d/SERVER:5000/.

The password is kept as a bcrypt hash in ` + site.UsersFile + `. It
counts at once, on this host: each control-plane host has its own users. A new
password leaves the prefixes as they are; --prefix '' lifts them. With --remove
the user's tokens end, too.`,
		Example: "  airgap registry passwd ci --prefix team/\n  podman login SERVER:5000 --username ci\n  podman push SERVER:5000/team/app:1",
		Args:    oneArg("the user's name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			if users.File == site.UsersFile {
				users.Group = site.ServiceGroup
			}
			if remove {
				return a.removeUser(users, name)
			}
			password, err := a.terminal().Ask(cmd.Context(), "Password for "+name+": ", true)
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			if err := users.Set(name, strings.TrimRight(password, "\r\n"), prefixes...); err != nil {
				return err
			}
			return a.print(pusher{User: name, Prefixes: prefixes}, func(w io.Writer) error {
				below := ""
				if all := strings.Join(prefixes, ", "); all != "" {
					below = ", below " + all
				}
				_, err := fmt.Fprintf(w, "%s may push to this host's registry%s\n", name, below)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&users.File, "users", site.UsersFile, "htpasswd file")
	cmd.Flags().StringArrayVar(&prefixes, "prefix", nil, "beginning of the names that USER may push to; may be given more than once; '' lifts it")
	cmd.Flags().BoolVar(&remove, "remove", false, "take the user out")
	return cmd
}

func (a *app) removeUser(users registry.Users, name string) error {
	removed, err := users.Remove(name)
	if err != nil {
		return err
	}
	if !removed {
		names, _ := users.Names()
		slices.Sort(names)
		return advice.Add(fmt.Errorf("%s is no user of this registry", name), "users are: %s", strings.Join(names, ", "))
	}
	return a.print(pusher{User: name, Removed: true}, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s may no longer push\n", name)
		return err
	})
}
