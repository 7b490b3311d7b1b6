package fetch

import (
	"errors"
	"net/url"
	"strings"
)

// Presentable is a URL for a message: without user, password and query. Registries put
// signatures for blob addresses into the query; a full address gives access to the
// blob.
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

// presentableError rewrites the URL in an error of http.Client, which is the target of
// the last redirect.
func presentableError(err error) error {
	if failed, is := errors.AsType[*url.Error](err); is {
		failed.URL = Presentable(failed.URL)
	}
	return err
}
