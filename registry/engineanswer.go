package registry

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// specifiedErrors writes the errors of the engine in the format of the specification: the engine has
// more codes, and some of its errors are plain text.
type specifiedErrors struct{ engine http.Handler }

func (s specifiedErrors) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := &engineAnswer{ResponseWriter: w}
	s.engine.ServeHTTP(a, r)
	a.finish()
}

// engineAnswer passes a successful answer on, and holds the text of an error back.
type engineAnswer struct {
	http.ResponseWriter

	failed int // status of the error; 0: none
	text   bytes.Buffer
}

func (a *engineAnswer) WriteHeader(status int) {
	if status < http.StatusBadRequest {
		a.ResponseWriter.WriteHeader(status)
		return
	}
	a.failed = status
}

func (a *engineAnswer) Write(p []byte) (int, error) {
	if a.failed != 0 {
		return a.text.Write(p)
	}
	return a.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the connection.
func (a *engineAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// answerError is an error in the format of the specification.
type answerError struct {
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Detail  json.RawMessage `json:"detail,omitempty"`
}

func (a *engineAnswer) finish() {
	if a.failed == 0 {
		return
	}
	var answer struct {
		Errors []answerError `json:"errors"`
	}
	if err := json.Unmarshal(a.text.Bytes(), &answer); err != nil || len(answer.Errors) == 0 {
		answer.Errors = []answerError{{Code: "UNSUPPORTED", Message: http.StatusText(a.failed)}}
	}
	for i, e := range answer.Errors {
		answer.Errors[i].Code = specifiedCode(e.Code)
	}
	a.Header().Set("Content-Type", "application/json")
	a.Header().Del("Content-Length")
	a.ResponseWriter.WriteHeader(a.failed)
	_ = json.NewEncoder(a.ResponseWriter).Encode(answer) // the client may have closed the connection
}

// specifiedCode returns the code of the specification for one that only the engine has.
func specifiedCode(code string) string {
	switch code {
	case "RANGE_INVALID":
		return "BLOB_UPLOAD_INVALID"
	case "TAG_INVALID", "MANIFEST_UNVERIFIED":
		return "MANIFEST_INVALID"
	case "PAGINATION_NUMBER_INVALID":
		return "UNSUPPORTED"
	}
	return code
}
