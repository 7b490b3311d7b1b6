package httpclient

import (
	"net/http"
	"testing"
	"time"
)

// TestRetryAfter: seconds and dates, within limits.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "soon": 0, "-5": 0, "0": 0, "120": 2 * time.Minute, " 7 ": 7 * time.Second, "99999999999": 24 * time.Hour,
		"Sun, 29 Nov 2026 12:01:30 GMT": 90 * time.Second, "Sun, 29 Nov 2026 11:00:00 GMT": 0, "Sun, 29 Nov 2099 12:00:00 GMT": 24 * time.Hour,
	} {
		response := &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {text}}}
		if got := RetryAfter(response, now); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if got := RetryAfter(&http.Response{StatusCode: http.StatusOK, Header: http.Header{"Retry-After": {"120"}}}, now); got != 0 {
		t.Errorf("200: %s", got)
	}
}
