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

// Spoken is the language that the environment asks for, if there is a book in it.
func Spoken(getenv func(string) string) Language {
	locale := getenv("LANG")
	for _, name := range []string{"LC_MESSAGES", "LC_ALL"} {
		if value := getenv(name); value != "" {
			locale = value
		}
	}
	language := Language(locale[:strings.IndexAny(locale+".", "_.@")])
	if slices.Contains(Languages(), language) {
		return language
	}
	return English
}

// Serve gives the books to browsers until ctx ends, the first one at /. It listens on this
// computer alone: others come through SSH. at gets the address once it can be asked.
func Serve(ctx context.Context, first Language, version, listen string, at func(url string)) error {
	address, err := net.ResolveTCPAddr("tcp", listen)
	if err != nil || !address.IP.IsLoopback() {
		return advice.Usagef("airgap docs: --listen wants an address of this computer alone, such as 127.0.0.1:8088, not %q", listen)
	}
	books, err := serveBooks(first, version)
	if err != nil {
		return err
	}
	l, err := net.ListenTCP("tcp", address)
	if err != nil {
		return advice.Add(fmt.Errorf("serve the book: %w", err), "leave --listen away and any free port is taken")
	}
	server := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: books}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // a server that is closed has nothing to say
	defer stop()
	at(fmt.Sprintf("http://%s/", l.Addr()))
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the book: %w", err)
	}
	return nil
}

// serveBooks has each language's book under its name, and one of them at /.
func serveBooks(first Language, version string) (http.Handler, error) {
	books, err := HTMLBooks(version)
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
