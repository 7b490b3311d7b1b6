package registry

import (
	"log/slog"
	"net/http"
	"strconv"
	"time"
)

// A client that accepts no data for stallTimeout is disconnected. A slow client is served for as
// long as it accepts data.
const (
	stallTimeout = 2 * time.Minute
	bodyTimeout  = 30 * time.Second
)

// accessLog logs and counts each request. It aborts an answer that is shorter than its announced
// length, so that no client accepts an incomplete file.
func accessLog(next http.Handler, log *slog.Logger, m *metrics) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		a := &answer{ResponseWriter: w, control: http.NewResponseController(w)}
		if r.ContentLength != 0 {
			_ = a.control.SetReadDeadline(began.Add(bodyTimeout)) // some ResponseWriters of tests cannot
		}
		m.inFlight.Inc()
		defer m.inFlight.Dec()
		next.ServeHTTP(a, r)
		truncated := r.Method == http.MethodGet && a.truncated()
		level := slog.LevelInfo
		if r.URL.Path == pushedPath && a.status == http.StatusNotModified {
			level = slog.LevelDebug // each other registry polls every few seconds
		}
		log.Log(r.Context(), level, "request", "method", r.Method, "url", r.URL.RequestURI(), "status", a.status, "bytes", a.bytes,
			"milliseconds", time.Since(began).Milliseconds(), "client", r.RemoteAddr, "agent", r.UserAgent(), "aborted", truncated)
		m.count(r, a, time.Since(began))
		if truncated {
			panic(http.ErrAbortHandler)
		}
	})
}

// answer counts the bytes sent, and extends the write deadline while the client accepts data.
type answer struct {
	http.ResponseWriter
	control  *http.ResponseController
	status   int
	bytes    int64
	deadline time.Time
}

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	if now := time.Now(); a.deadline.Sub(now) < stallTimeout-time.Second {
		a.deadline = now.Add(stallTimeout)
		_ = a.control.SetWriteDeadline(a.deadline) // some ResponseWriters of tests cannot
	}
	n, err := a.ResponseWriter.Write(p)
	a.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answer) truncated() bool {
	if a.status == http.StatusNotModified {
		return false
	}
	announced, err := strconv.ParseInt(a.Header().Get("Content-Length"), 10, 64)
	return err == nil && a.bytes < announced
}
