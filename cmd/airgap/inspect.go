package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/ui"
)

func (a *app) inspect() *cobra.Command {
	var keys []string
	var full, list bool
	cmd := &cobra.Command{
		Use:   "inspect DIR",
		Short: "Show what a bundle holds and whether it is whole",
		Long: `Checks the signature, the index and the sizes of all parts, and prints what is
inside. With --full every byte is read and compared.`,
		Example: "  airgap inspect /media/stick/bank --full\n  airgap inspect ./bank --list --output json | jq -r '.lock.images[].name'",
		Args:    oneArg("the bundle's directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, trusted, err := openBundle(args[0], keys)
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
				return writeContents(w, b.Index(), fingerprints(trusted), full, list)
			})
		},
	}
	keyFlags(cmd, &keys)
	cmd.Flags().BoolVar(&full, "full", false, "read and verify every byte")
	cmd.Flags().BoolVar(&list, "list", false, "list every image, package and file")
	return cmd
}

func writeContents(w io.Writer, i *bundle.Index, key string, full, list bool) error {
	t := tally(i)
	state := "signature fine, parts complete"
	if full {
		state = "signature fine, every byte verified"
	}
	fmt.Fprintf(w, "%s, %s\n", i.Name, i.Created.Format("2006-01-02 15:04 MST"))
	fmt.Fprintf(w, "  state     %s\n  key       %s\n", state, key)
	fmt.Fprintf(w, "  for       %s, %s\n", i.Lock.OS, i.Lock.Platform)
	fmt.Fprintf(w, "  size      %s in %d parts\n", ui.Size(t.total), len(i.Parts))
	fmt.Fprintf(w, "  images    %4d  %9s\n", len(i.Lock.Images), ui.Size(t.images))
	fmt.Fprintf(w, "  packages  %4d  %9s\n", len(i.Lock.Packages), ui.Size(t.packages))
	_, err := fmt.Fprintf(w, "  files     %4d  %9s\n", len(i.Lock.Files), ui.Size(t.files))
	if list {
		return writeList(w, i)
	}
	return err
}

// sizes add up the lock; blobs that images share count once.
type sizes struct{ total, images, packages, files int64 }

func tally(i *bundle.Index) sizes {
	var t sizes
	seen := map[string]bool{}
	for _, image := range i.Lock.Images {
		for _, b := range image.Blobs {
			if !seen[b.Digest] {
				seen[b.Digest] = true
				t.images += b.Size
			}
		}
	}
	for _, p := range i.Lock.Packages {
		t.packages += p.Size
	}
	for _, f := range i.Lock.Files {
		t.files += f.Size
	}
	for _, p := range i.Parts {
		t.total += p.Size
	}
	return t
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
	return nil
}
