package cni

import (
	"net/url"
	"path"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// below is a file in a directory that is a path or a URL.
func below(dir, file string) string {
	if strings.Contains(dir, "://") {
		return strings.TrimSuffix(dir, "/") + "/" + file
	}
	return path.Join(dir, file)
}

// checkSource wants a path or an https URL; schemes are further ones.
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
	return field.ErrorList{field.Invalid(at, source, "want a path or an https URL without credentials")}
}

// trimV is a version without the v that some write in front.
func trimV(version string) string { return strings.TrimPrefix(version, "v") }

// line is the minor of a version: "3.32" of "v3.32.4"; "" for what is no exact
// version.
func line(version string) string {
	parts := regexp.MustCompile(`^v?(\d+\.\d+)\.\d+$`).FindStringSubmatch(version)
	if parts == nil {
		return ""
	}
	return parts[1]
}
