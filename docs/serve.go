package docs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/internal/advice"
)

// EnvLanguage returns the language of the environment's locale, or English if the documentation does not
// have it.
func EnvLanguage(getenv func(string) string) Language {
	locale := getenv("LANG")
	for _, name := range []string{"LC_MESSAGES", "LC_ALL"} {
		if value := getenv(name); value != "" {
			locale = value
		}
	}
	language := Language(locale[:strings.IndexAny(locale+".", "_.@")])
	if slices.Contains(AllLanguages(), language) {
		return language
	}
	return English
}

// Serve serves the HTML pages of all languages until ctx ends, the language first at /. It listens
// only on a loopback address; other hosts connect through SSH. It calls at with the URL when it
// listens.
func Serve(ctx context.Context, first Language, version, listen string, at func(url string)) error {
	address, err := net.ResolveTCPAddr("tcp", listen)
	if err != nil || !address.IP.IsLoopback() {
		return advice.Usagef("airgap docs: --listen requires a loopback address with a port, for example 127.0.0.1:8088, not %q", listen)
	}
	books, err := serveBooks(first, version)
	if err != nil {
		return err
	}
	l, err := net.ListenTCP("tcp", address)
	if err != nil {
		return advice.Add(fmt.Errorf("serve the documentation: %w", err), "omit --listen to use a free port")
	}
	server := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: books}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // Serve reports the closed server
	defer stop()
	at(fmt.Sprintf("http://%s/", l.Addr()))
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the documentation: %w", err)
	}
	return nil
}

// serveBooks returns the handler for the file of each language, and for the language first at /.
func serveBooks(first Language, version string) (http.Handler, error) {
	books, err := HTMLFiles(version)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	for language, text := range books {
		handle := func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src data:")
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
		}
		mux.HandleFunc("GET /"+language.File(), handle)
		if language == first {
			mux.HandleFunc("GET /{$}", handle)
		}
	}
	return mux, nil
}
