package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/ui"
)

func (a *app) inspect() *cobra.Command {
	var keys []string
	var full, list bool
	cmd := &cobra.Command{
		Use:   "inspect DIR",
		Short: "Show what a bundle holds and whether it is whole",
		Long: `Checks the signature, the index and the sizes of all parts, and prints what is
inside. With --full every byte is read and compared. Of a delta it says what has to be
in the servers' store already; --list has every such file.

--require-key says whose signature it must be: the key's file, or its fingerprint as
whoever signed the bundle gave it to you on another way than the stick.`,
		Example: "  airgap inspect /media/stick/bank --full\n  airgap inspect ./bank --list --output json | jq -r '.lock.images[].name'",
		Args:    oneArg("the bundle's directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, t, err := site.Open(args[0], keys)
			if err != nil {
				return err
			}
			defer b.Close()
			if full {
				if err := b.Verify(cmd.Context(), a.newProgress()); err != nil {
					return err
				}
			}
			return a.print(b.Index(), func(w io.Writer) error {
				return writeContents(w, b.Index(), site.Fingerprints(t.Keys), full, list)
			})
		},
	}
	keyFlags(cmd, &keys)
	cmd.Flags().BoolVar(&full, "full", false, "read and verify every byte")
	cmd.Flags().BoolVar(&list, "list", false, "list every image, package and file")
	return cmd
}

func writeContents(w io.Writer, i *bundle.Index, key string, full, list bool) error {
	s := i.Summary()
	state := "signature fine, parts complete"
	if full {
		state = "signature fine, every byte verified"
	}
	fmt.Fprintf(w, "%s, %s\n", i.Name, i.Created.Format("2006-01-02 15:04 MST"))
	fmt.Fprintf(w, "  state     %s\n  key       %s\n", state, key)
	fmt.Fprintf(w, "  for       %s, %s\n", i.Lock.OS, i.Lock.Platform)
	fmt.Fprintf(w, "  size      %s in %s\n", ui.Size(s.Size), ui.Count(len(i.Parts), "part"))
	fmt.Fprintf(w, "  images    %4d  %9s\n", s.Images.Count, ui.Size(s.Images.Bytes))
	fmt.Fprintf(w, "  packages  %4d  %9s\n", s.Packages.Count, ui.Size(s.Packages.Bytes))
	_, err := fmt.Fprintf(w, "  files     %4d  %9s\n", s.Files.Count, ui.Size(s.Files.Bytes))
	if s.Addons.Count > 0 {
		_, err = fmt.Fprintf(w, "  add-ons   %4d  %9s\n", s.Addons.Count, ui.Size(s.Addons.Bytes))
	}
	if i.IsDelta() {
		_, err = fmt.Fprintf(w, "  delta     of these %s (%s) are not in it: they have to be in the servers' store, by %s\n",
			ui.Count(s.Base.Count, "file"), ui.Size(s.Base.Bytes), strings.Join(i.Base.Bundles, ", "))
	}
	if list {
		return writeList(w, i)
	}
	return err
}

func writeList(w io.Writer, i *bundle.Index) error {
	for _, image := range i.Lock.Images {
		fmt.Fprintf(w, "image    %s  %s\n", image.Name, image.Digest)
	}
	for _, p := range i.Lock.Packages {
		fmt.Fprintf(w, "package  %s  %s\n", p.NEVRA, ui.Size(p.Size))
	}
	for _, f := range i.Lock.Files {
		fmt.Fprintf(w, "file     %s  %s\n", f.Name, ui.Size(f.Size))
	}
	for _, f := range i.Left() {
		fmt.Fprintf(w, "needs    %s  %s\n", f.Path, ui.Size(f.Size))
	}
	if n := i.Lock.Network; n != nil {
		fmt.Fprintf(w, "network  %s  %s\n", n.Name, madeOf(n.Addon))
	}
	for _, a := range i.Lock.Addons {
		fmt.Fprintf(w, "add-on   %s  %s\n", a.Name, madeOf(a))
	}
	return nil
}
