package rowwise

import "fmt"

// exponentials are polynomials for exp r, |r| ≤ ln 2 / 2, from the highest power down, with the least largest relative error: of degree
// 2, 3, 4, 5, 6 it is 1.7e-3, 7.5e-5, 2.6e-6, 7.5e-8, 1.9e-9, before the coefficients are rounded. They were made by the
// algorithm of Remez.
var exponentials = map[int][]string{
	2: floats(0.4962584674358368, 1.0148613452911377, 1.0004432201385498),
	3: floats(0.16566815972328186, 0.5049633979797363, 1.000164270401001, 0.9999280571937561),
	4: floats(0.04145853593945503, 0.16790908575057983, 0.5000435709953308, 0.9999634027481079, 0.9999992847442627),
	5: floats(0.008297665044665337, 0.04191538691520691, 0.16667574644088745, 0.49998894333839417, 0.9999997019767761, 1),
	6: floats(0.0013836824800819159, 0.008374816738069057, 0.04166822507977486, 0.16666419804096222, 0.49999991059303284, 1, 1),
}

// binaries are polynomials for 2ʳ, 0 ≤ r < 1, of the same degrees and errors.
var binaries = map[int][]string{
	2: floats(0.3371890187263489, 0.6576368808746338, 1.0017247200012207),
	3: floats(0.07802479714155197, 0.22606681287288666, 0.6958336234092712, 0.9999251961708069),
	4: floats(0.013534137047827244, 0.05201152339577675, 0.2414427101612091, 0.6930038332939148, 1.0000026226043701),
	5: floats(0.001877572387456894, 0.008989349938929081, 0.05582631006836891, 0.24015362560749054, 0.6931530833244324, 1),
	6: floats(0.0002170229854527861, 0.0012439677957445383, 0.009678841568529606, 0.055483341217041016, 0.24022983014583588, 0.6931470036506653, 1),
}

// erfTerms are those of Abramowitz and Stegun for erfc, halved: the highest power first. erfScale goes with them: it is theirs
// over √2.
type erfTerms struct {
	scale string
	terms []string
}

var (
	// 7.1.26: wrong by 1.5e-7 at most.
	erfExact = erfTerms{"0.231641888f", floats(1.061405429/2, -1.453152027/2, 1.421413741/2, -0.284496736/2, 0.254829592/2)}
	// 7.1.25: wrong by 2.5e-5 at most.
	erfFast = erfTerms{"0.332672527f", floats(0.7478556/2, -0.0958798/2, 0.3480242/2)}
)

// phiTerms are polynomials p with Φ(x) = 1/2 + x·p(2x²/b² − 1) for |x| ≤ b, the highest power first, made by the algorithm of Remez.
type phiTerms struct {
	bound string
	scale string // 2/b²
	terms []string
}

var (
	// Wrong by 1.6e-7 at most; beyond 5 it is 2.9e-7 from the limit.
	phiExact = phiTerms{"5.f", "0.08f", floats(0.0006087638577962675, -0.001613273513307064, 0.0017226959954957206, -0.002685559007704168,
		0.0064106248070207655, -0.01116435000973462, 0.016402112920757203, -0.023268649247004964, 0.03144218793144448,
		-0.04044260812964361, 0.05152052096427504, -0.07029628053871963, 0.14136378761686758)}
	// Wrong by 2e-4 at most; beyond 3.6 it is 1.6e-4 from the limit.
	phiFast = phiTerms{"3.6f", "0.154320988f", floats(-0.008437129771293997, 0.021359050828096245, -0.03209722436390204, 0.052777563114387076,
		-0.0891597335820487, 0.19434707778625493)}
)

// floats writes numbers as constants of C.
func floats(list ...float64) []string {
	var out []string
	for _, f := range list {
		text := fmt.Sprintf("%.9g", f)
		if f == float64(int(f)) {
			text += ".0"
		}
		out = append(out, text+"f")
	}
	return out
}
