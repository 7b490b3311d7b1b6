package rpm

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

type noServer struct{}

func (noServer) Open(_ context.Context, url string, _ int64) (io.ReadCloser, int64, error) {
	return nil, 0, errors.New("connect to " + url)
}

// TestPlanReportsAllRepositories: one unreachable repository does not hide another.
func TestPlanReportsAllRepositories(t *testing.T) {
	request := Request{OS: "el9", Arch: "x86_64", Repositories: []Repository{
		{Name: "baseos", BaseURL: "https://a.example/", GPGKeys: []string{"https://a.example/key"}},
		{Name: "appstream", BaseURL: "https://b.example/", GPGKeys: []string{"https://b.example/key"}},
	}}
	_, err := Plan(t.Context(), noServer{}, request)
	for _, want := range []string{"read repository baseos: ", "https://a.example/key", "read repository appstream: ", "https://b.example/key"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}
