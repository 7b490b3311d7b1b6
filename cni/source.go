package cni

import (
	"net/url"
	"path"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// below returns the path or URL of a file in a directory.
func below(dir, file string) string {
	if strings.Contains(dir, "://") {
		return strings.TrimSuffix(dir, "/") + "/" + file
	}
	return path.Join(dir, file)
}

// checkSource returns an error unless source is a path, an https URL, or a URL with one of the schemes.
func checkSource(at *field.Path, source string, schemes ...string) field.ErrorList {
	scheme, _, isURL := strings.Cut(source, "://")
	if !isURL {
		return nil
	}
	u, err := url.Parse(source)
	for _, known := range append([]string{"https"}, schemes...) {
		if err == nil && scheme == known && u.Host != "" && u.User == nil {
			return nil
		}
	}
	return field.ErrorList{field.Invalid(at, source, "expected a path or an https URL without credentials")}
}

// trimV returns a version without the leading v.
func trimV(version string) string { return strings.TrimPrefix(version, "v") }

// line returns the minor version: "3.32" for "v3.32.4"; "" for anything but an exact version.
func line(version string) string {
	parts := regexp.MustCompile(`^v?(\d+\.\d+)\.\d+$`).FindStringSubmatch(version)
	if parts == nil {
		return ""
	}
	return parts[1]
}
