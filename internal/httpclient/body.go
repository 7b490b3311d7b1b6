package httpclient

import (
	"errors"
	"fmt"
	"io"
)

// ErrTooLarge says that an answer is longer than the caller allows.
var ErrTooLarge = errors.New("the answer is too large")

// ReadAll reads the whole body of an answer, of at most limit bytes. A longer one is
// an error, since a part of it could be taken for all.
func ReadAll(body io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)
	}
	return data, nil
}
