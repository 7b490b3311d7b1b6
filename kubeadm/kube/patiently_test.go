package kube

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestPatiently: an API server that is slow is asked again, one that refuses is not.
func TestPatiently(t *testing.T) {
	no := apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "", errors.New("not you"))
	for name, test := range map[string]struct {
		answers []error
		want    error
		asked   int
	}{
		"at once": {[]error{nil}, nil, 1},
		"slow":    {[]error{context.DeadlineExceeded, nil}, nil, 2},
		"busy":    {[]error{apierrors.NewTooManyRequests("busy", 1), nil}, nil, 2},
		"refused": {[]error{no, nil}, no, 1},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			got, err := Retry(t.Context(), func(context.Context) (int, error) {
				asked++
				return asked, test.answers[asked-1]
			})
			if !errors.Is(err, test.want) || asked != test.asked || err == nil && got != asked {
				t.Errorf("got %d, %v after %d questions", got, err, asked)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Retry(ctx, func(ctx context.Context) (int, error) { return 0, ctx.Err() }); !errors.Is(err, context.Canceled) {
		t.Errorf("after Ctrl-C: %v", err)
	}
}
