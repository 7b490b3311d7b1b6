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
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/version"
)

func docsLong() string {
	return `Print the page of a check, a rule of verify or a command on the terminal, or the section
about a field of airgap.yaml, an exit code or an error code of the registry. Any other
words, also a pasted error message, are searched for in all pages; a synonym also
matches (docker finds podman). Korean words search the Korean pages.

Without words the command serves the documentation to a browser on this computer, until
Ctrl-C. From another computer, use SSH:

  ssh -L 8088:127.0.0.1:8088 SERVER airgap docs --listen 127.0.0.1:8088

Pages are in Korean if the first of LC_ALL, LC_MESSAGES and LANG that is set is Korean
(ko_KR.UTF-8), otherwise in English.

The USB drive has the same documentation as ` + docs.English.File() + ` and ` + docs.Korean.File() + `. Each is a
single file for any browser, to search and print.`
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
		Use:     "docs [NAME | WORD…]",
		Short:   "Show the documentation: a page on the terminal, or all pages in a browser",
		Long:    docsLong(),
		Example: "  airgap docs selinux\n  airgap docs network.port\n  airgap docs DENIED\n  airgap docs disk full\n  airgap docs \"airgap upgrade\"\n  airgap docs\n  airgap docs --language ko --file airgap.ko.html",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := docs.Read(cmp.Or(docs.Language(o.language), docs.QueryLanguage(strings.Join(args, " ")), docs.EnvLanguage(os.Getenv)))
			if err != nil {
				return advice.Usagef("%v", err)
			}
			switch {
			case o.list && len(args) == 0:
				return listPages(a, b)
			case len(args) > 0 && !o.list && o.file == "":
				return showPages(a, b, strings.Join(args, " "))
			case len(args) > 0:
				return advice.Usagef("%s: --list and --file are not for a single page: leave them out, or leave NAME out", cmd.CommandPath())
			case o.file != "":
				return b.WriteFile(o.file, version.String())
			default:
				return docs.Serve(cmd.Context(), b.Language, version.String(), o.listen, func(url string) {
					fmt.Fprintln(a.stdout, url)
					fmt.Fprintln(a.stderr, "open this address in a browser on this computer; press Ctrl-C to stop")
				})
			}
		},
	}
	cmd.Flags().StringVar(&o.language, "language", "", "language of the documentation: en or ko; default: from LC_ALL, LC_MESSAGES or LANG")
	cmd.Flags().BoolVar(&o.list, "list", false, "list the pages")
	cmd.Flags().StringVar(&o.file, "file", "", "write the documentation to this HTML file")
	cmd.Flags().StringVar(&o.listen, "listen", "127.0.0.1:0", "address on this computer to listen on; port 0 selects a free port")
	return withFormats(cmd, asText, asJSON)
}

func listPages(a *app, b *docs.Documentation) error {
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

// showPages prints all pages with a name: a preflight check and a rule of verify can have the
// same name. Without such a page it lists the sections with these words.
func showPages(a *app, b *docs.Documentation, name string) error {
	pages, err := b.Find(name)
	if err != nil {
		return showHits(a, b, name)
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

// showHits prints the sections and rows that fit a query best. A query that no page mentions, and that is
// almost the name of a page, is a typing mistake.
func showHits(a *app, b *docs.Documentation, query string) error {
	results := b.Search(query)
	var names []string
	mentioned := false
	for _, p := range b.Pages {
		names = append(names, path.Base(p.Name()))
		mentioned = mentioned || strings.Contains(strings.ToLower(p.Text), strings.ToLower(query))
	}
	if len(results.Pages) == 0 || !mentioned && advice.Nearest(query, names) != "" {
		return advice.Usagef("airgap docs: no page has %q%s (airgap docs --list lists all)", query, advice.DidYouMean(query, names))
	}
	command := "airgap docs"
	if b.Language != docs.EnvLanguage(os.Getenv) {
		command += " --language " + string(b.Language)
	}
	return a.print(results, func(w io.Writer) error { return results.Write(w, command, ui.Width(os.Stdout, 100)) })
}
