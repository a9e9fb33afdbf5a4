// Package report shows runs to people: as one HTML file that opens offline, as Markdown for a pull request, and live.
//
//  1. [Open] reads what a directory of a run holds, [Measurements] a file of measurements. What cannot be read is named, and the rest is
//     there.
//  2. A [Run] is what a page shows of one of them. Its charts are SVG, drawn here, so that a page needs no script to be read: marks
//     have their values as titles. With the script, the keyboard reaches them too. A [Plot] is a chart with its [Numbers]: the same as tables, for those who do not see it.
//  3. A [Library] is what a page shows of a library of kernels, beside the runs that it was made from.
//  4. [Page.HTML] and [Page.Markdown] write the page. [Server] serves the same parts, and sends new ones while a run goes on.
//
// Names, keys and reasons come from files of others. html/template escapes them in the page, and the drawings escape them themselves.
package report
