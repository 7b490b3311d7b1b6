package httpclient

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longestPause limits what a server can demand.
const longestPause = 24 * time.Hour

// RetryAfter returns the pause that an answer demands, at most 24 hours: its Retry-After in seconds or as an HTTP date;
// 0 for anything else, for the past, and for a status that is neither 429 nor 503.
func RetryAfter(response *http.Response, now time.Time) time.Duration {
	if response.StatusCode != http.StatusTooManyRequests && response.StatusCode != http.StatusServiceUnavailable {
		return 0
	}
	text := strings.TrimSpace(response.Header.Get("Retry-After"))
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Duration(min(max(n, 0), int64(longestPause/time.Second))) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), longestPause)
}
