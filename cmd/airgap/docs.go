package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"airgap.dev/airgap/docs"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/version"
)

type docsOptions struct {
	language string
	list     bool
	file     string
	listen   string
}

func (a *app) docs() *cobra.Command {
	var o docsOptions
	cmd := &cobra.Command{
		Use:   "docs [NAME]",
		Short: "The book of airgap, where there is no internet: a page, or all of it in a browser",
		Long: `Prints the page of a check, a rule of verify or a command on the terminal, or what
the book says of a field of airgap.yaml, an exit code or an error code of the registry.
Without NAME the whole book is served to a browser on this computer, until Ctrl-C; from
another one it is reached through SSH:

  ssh -L 8088:127.0.0.1:8088 SERVER airgap docs --listen 127.0.0.1:8088

Pages are in Korean where the first of LC_ALL, LC_MESSAGES and LANG that is set says so
(ko_KR.UTF-8), else in English.

The same book lies on the stick as ` + docs.English.File() + ` and ` + docs.Korean.File() + `: one file that needs nothing else,
to be opened, searched and printed.`,
		Example: "  airgap docs selinux\n  airgap docs network.port\n  airgap docs DENIED\n  airgap docs \"airgap upgrade\"\n  airgap docs\n  airgap docs --language ko --file airgap.ko.html",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := docs.Read(cmp.Or(docs.Language(o.language), spoken(os.Getenv)))
			if err != nil {
				return advice.Usagef("%v", err)
			}
			switch {
			case o.list && len(args) == 0:
				return a.listPages(b)
			case len(args) == 1 && !o.list && o.file == "":
				return a.showPages(b, args[0])
			case len(args) == 1:
				return advice.Usagef("%s: a page is printed; --list and --file are about the whole book", cmd.CommandPath())
			case o.file != "":
				return writeBook(b, o.file)
			default:
				return a.serveBook(cmd.Context(), b, o.listen)
			}
		},
	}
	cmd.Flags().StringVar(&o.language, "language", "", "of the book: en or ko; default: by LC_ALL, LC_MESSAGES or LANG")
	cmd.Flags().BoolVar(&o.list, "list", false, "list the pages")
	cmd.Flags().StringVar(&o.file, "file", "", "write the whole book to this file, as HTML")
	cmd.Flags().StringVar(&o.listen, "listen", "127.0.0.1:0", "address on this computer that the browser asks; port 0 is any free one")
	return gives(cmd, asText, asJSON)
}

// spoken is the language that the environment asks for, if there is a book in it.
func spoken(getenv func(string) string) docs.Language {
	locale := cmp.Or(getenv("LC_ALL"), getenv("LC_MESSAGES"), getenv("LANG"))
	language := docs.Language(locale[:strings.IndexAny(locale+".", "_.@")])
	if slices.Contains(docs.Languages(), language) {
		return language
	}
	return docs.English
}

func (a *app) listPages(b *docs.Book) error {
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
func (a *app) showPages(b *docs.Book, name string) error {
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

func writeBook(b *docs.Book, file string) error {
	var text bytes.Buffer
	if err := b.HTML(&text, version.String()); err != nil {
		return err
	}
	if err := host.WriteFile(file, text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the book: %w", err)
	}
	return nil
}

// serveBook gives both books to browsers until ctx ends, this one first. It is for this
// computer: others come through SSH.
func (a *app) serveBook(ctx context.Context, b *docs.Book, listen string) error {
	address, err := net.ResolveTCPAddr("tcp", listen)
	if err != nil || !address.IP.IsLoopback() {
		return advice.Usagef("airgap docs: --listen wants an address of this computer alone, such as 127.0.0.1:8088, not %q", listen)
	}
	books, err := serveBooks(b.Language)
	if err != nil {
		return err
	}
	l, err := net.ListenTCP("tcp", address)
	if err != nil {
		return advice.Add(fmt.Errorf("serve the book: %w", err), "leave --listen away and any free port is taken")
	}
	server := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: books}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // that it was told to is no error
	defer stop()
	fmt.Fprintf(a.stdout, "http://%s/\n", l.Addr())
	fmt.Fprintln(a.stderr, "open this in a browser on this computer; Ctrl-C ends it")
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the book: %w", err)
	}
	return nil
}

// serveBooks has each language's book under its name, and one of them at /.
func serveBooks(first docs.Language) (http.Handler, error) {
	books, err := docs.HTMLBooks(version.String())
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	for language, text := range books {
		give := func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src data:")
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
		}
		mux.HandleFunc("GET /"+language.File(), give)
		if language == first {
			mux.HandleFunc("GET /{$}", give)
		}
	}
	return mux, nil
}
