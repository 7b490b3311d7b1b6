package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/docs"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/version"
)

func docsLong() string {
	return `Prints the page of a check, a rule of verify or a command on the terminal, or what
the book says of a field of airgap.yaml, an exit code or an error code of the registry.
Without NAME the whole book is served to a browser on this computer, until Ctrl-C; from
another one it is reached through SSH:

  ssh -L 8088:127.0.0.1:8088 SERVER airgap docs --listen 127.0.0.1:8088

Pages are in Korean where the first of LC_ALL, LC_MESSAGES and LANG that is set says so
(ko_KR.UTF-8), else in English.

The same book lies on the stick as ` + docs.English.File() + ` and ` + docs.Korean.File() + `: one file that needs nothing else,
to be opened, searched and printed.`
}

type docsOptions struct {
	language string
	list     bool
	file     string
	listen   string
}

func docsCommand(a *app) *cobra.Command {
	var o docsOptions
	cmd := &cobra.Command{
		Use:     "docs [NAME]",
		Short:   "The book of airgap, where there is no internet: a page, or all of it in a browser",
		Long:    docsLong(),
		Example: "  airgap docs selinux\n  airgap docs network.port\n  airgap docs DENIED\n  airgap docs \"airgap upgrade\"\n  airgap docs\n  airgap docs --language ko --file airgap.ko.html",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := docs.Read(cmp.Or(docs.Language(o.language), docs.Spoken(os.Getenv)))
			if err != nil {
				return advice.Usagef("%v", err)
			}
			switch {
			case o.list && len(args) == 0:
				return listPages(a, b)
			case len(args) == 1 && !o.list && o.file == "":
				return showPages(a, b, args[0])
			case len(args) == 1:
				return advice.Usagef("%s: a page is printed; --list and --file are about the whole book", cmd.CommandPath())
			case o.file != "":
				return b.WriteFile(o.file, version.String())
			default:
				return docs.Serve(cmd.Context(), b.Language, version.String(), o.listen, func(url string) {
					fmt.Fprintln(a.stdout, url)
					fmt.Fprintln(a.stderr, "open this in a browser on this computer; Ctrl-C ends it")
				})
			}
		},
	}
	cmd.Flags().StringVar(&o.language, "language", "", "of the book: en or ko; default: by LC_ALL, LC_MESSAGES or LANG")
	cmd.Flags().BoolVar(&o.list, "list", false, "list the pages")
	cmd.Flags().StringVar(&o.file, "file", "", "write the whole book to this file, as HTML")
	cmd.Flags().StringVar(&o.listen, "listen", "127.0.0.1:0", "address on this computer that the browser asks; port 0 is any free one")
	return gives(cmd, asText, asJSON)
}

func listPages(a *app, b *docs.Book) error {
	type row struct {
		Name  string `json:"name"`
		Title string `json:"title"`
	}
	var rows []row
	for _, p := range b.Pages {
		rows = append(rows, row{p.Name(), p.Title})
	}
	return a.print(rows, func(w io.Writer) error {
		for _, r := range rows {
			if _, err := fmt.Fprintf(w, "%-38s %s\n", r.Name, r.Title); err != nil {
				return err
			}
		}
		return nil
	})
}

// showPages prints all pages of a name: a check before the installation and a rule
// of the running cluster may share one.
func showPages(a *app, b *docs.Book, name string) error {
	pages, err := b.Find(name)
	if err != nil {
		var names []string
		for _, p := range b.Pages {
			names = append(names, path.Base(p.Name()))
		}
		return advice.Usagef("airgap docs: there is no page %q%s (airgap docs --list has all)", name, advice.ButNear(name, names))
	}
	return a.print(pages, func(w io.Writer) error {
		for i, p := range pages {
			if i > 0 {
				fmt.Fprintf(w, "\n%s\n\n", strings.Repeat("─", 72))
			}
			if _, err := fmt.Fprintln(w, p.Plain()); err != nil {
				return err
			}
		}
		return nil
	})
}
