package cni

// Golden compares objects with a file of testdata.
var Golden = golden
