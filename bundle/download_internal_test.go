package bundle

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// TestWholeDownloadNeedsNoConnection has the connection break after the last
// byte and before its end was read: there is nothing left to ask for.
func TestWholeDownloadNeedsNoConnection(t *testing.T) {
	const content = "the last bytes"
	d := &download{
		ctx: context.Background(), patience: patience{attempts: 3, stall: time.Minute}, url: "http://192.0.2.1/none",
		size: int64(len(content)), stop: func() {}, alarm: time.NewTimer(time.Minute),
		body: io.NopCloser(io.MultiReader(iotest.OneByteReader(strings.NewReader(content)), iotest.ErrReader(errStalled))),
	}
	defer d.Close()
	got, err := io.ReadAll(d)
	if err != nil || string(got) != content {
		t.Errorf("got %q, %v", got, err)
	}
}
