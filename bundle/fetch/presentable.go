package fetch

import (
	"errors"
	"net/url"
	"strings"
)

// Presentable is a URL for a message: without user and password, and without
// the query, in which registries sign the addresses of blobs for whoever has
// the whole of it.
func Presentable(raw string) string {
	raw, _, _ = strings.Cut(raw, "#")
	raw, _, _ = strings.Cut(raw, "?")
	scheme, rest, has := strings.Cut(raw, "://")
	if !has {
		return raw
	}
	authority, path, slash := strings.Cut(rest, "/")
	authority = authority[strings.LastIndex(authority, "@")+1:]
	if slash {
		path = "/" + path
	}
	return scheme + "://" + authority + path
}

// presentableError rewrites the URL in an error of http.Client, which is the
// one that the last redirect led to.
func presentableError(err error) error {
	if failed, is := errors.AsType[*url.Error](err); is {
		failed.URL = Presentable(failed.URL)
	}
	return err
}
