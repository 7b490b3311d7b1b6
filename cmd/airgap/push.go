package main

import (
	"errors"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle/push"
	"airgap.dev/airgap/internal/advice"
)

const pushLong = `Pushes the images of the bundle in DIR to REGISTRY, a Harbor, a Nexus or any other
that follows the OCI distribution specification: HOST or HOST:PORT with the project
behind it. Left out, it is the one that airgap.yaml names under registry.existing,
from which the nodes then pull.

docker.io/library/nginx:1.27 becomes REGISTRY/docker.io/library/nginx:1.27. What is
there is not sent again, so an interrupted push goes on; a delta's base has to be
there. A tag that named another image is moved, and the output says so. Most
registries refuse an image index of which the bundle has one platform only: the tag
names that platform's manifest then, which the output says, too.

Credentials are those of podman login or docker login, or --user's, whose password
is asked for, or read as one line from standard input. Plain HTTP is refused.`

func pushCommand(a *app) *cobra.Command {
	var o push.Options
	cmd := &cobra.Command{
		Use:     "push DIR [REGISTRY]",
		Short:   "Bring a bundle's images into a registry that the site has already",
		Long:    pushLong,
		Example: "  airgap push /media/stick/bank harbor.bank.example/airgap --ca /etc/pki/bank-ca.crt --user robot\n  airgap push /media/stick/bank",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return advice.Usagef("airgap push: give the bundle's directory, and the registry where airgap.yaml names none")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Dir, o.Console = args[0], a.terminal()
			if len(args) > 1 {
				o.Registry = args[1]
			}
			done, err := push.Run(cmd.Context(), o)
			if err != nil && len(done.Images) == 0 {
				return err
			}
			return errors.Join(a.print(done.Images, done.Write), err)
		},
	}
	keyFlags(cmd, &o.Keys)
	cmd.Flags().StringVar(&o.CA, "ca", "", "PEM file with the certificate of the registry's authority; default: airgap.yaml's, else what this host trusts")
	cmd.Flags().StringVar(&o.User, "user", "", "log in as this user; default: the login that podman or docker keeps")
	return cmd
}
