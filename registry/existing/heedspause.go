package existing

import (
	"net/http"
	"time"

	"airgap.dev/airgap/internal/httpclient"
)

// longestHeeded is the longest pause that a push waits for. A registry that demands more gets its error to the user.
const longestHeeded = 5 * time.Minute

// heedsPause delays the answers 429 and 503 by the pause that they demand (Retry-After), because the library sends the
// request again about one second after it has the answer.
type heedsPause struct{ next http.RoundTripper }

func (t heedsPause) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if err != nil {
		return response, err
	}
	pause := httpclient.RetryAfter(response, time.Now())
	if pause == 0 || pause > longestHeeded {
		return response, nil
	}
	select {
	case <-time.After(pause):
		return response, nil
	case <-r.Context().Done():
		_ = response.Body.Close() // the request is cancelled
		return nil, r.Context().Err()
	}
}
