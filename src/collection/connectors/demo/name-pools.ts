// In charge of the stock of names, by origin, that the people of the demo school are named from.

export type Birthplace = { readonly country: string; readonly city: string };

export type NamePool = {
  readonly weight: number;
  readonly female: readonly string[];
  readonly male: readonly string[];
  /** Where a family name is inflected, the men's and the women's form are parted by a bar. */
  readonly family: readonly string[];
  /** Where members of these families who were born abroad come from. */
  readonly birthplaces: readonly Birthplace[];
};

export const birthplacesAtHome: readonly Birthplace[] = places(
  'GB Leeds, GB Bradford, GB Sheffield, GB Manchester, GB Birmingham, GB Leicester, GB London, GB Nottingham, GB Hull, GB York',
);

/** The largest share of the families, of whom few were born abroad. */
export const localPool: NamePool = pool(
  40,
  'IE Dublin, AU Perth, ES Alicante',
  'Amelia, Olivia, Isla, Ava, Ivy, Freya, Lily, Florence, Willow, Rosie, Sophie, Grace, Evie, Poppy, Ella, Charlotte, Daisy, Phoebe, Alice, ' +
    'Harriet, Matilda, Jessica, Ruby, Eleanor, Hannah, Megan, Lucy, Bethany, Zoë, Chloë, Imogen, Molly, Georgia, Abigail, Emily-Rose, Lola-Mae',
  'Oliver, George, Arthur, Noah, Leo, Oscar, Archie, Jack, Freddie, Theo, Charlie, Henry, Thomas, Finley, Alfie, Harrison, Joshua, Edward, Isaac, ' +
    'William, James, Toby, Jacob, Max, Reuben, Elliot, Harvey, Samuel, Louis, Callum, Ethan, Nathan, Zachary, Daniel, Alfie-Jay, Tommy-Lee',
  'Smith, Jones, Taylor, Brown, Williams, Wilson, Johnson, Davies, Robinson, Wright, Thompson, Evans, Walker, White, Roberts, Green, Hall, Wood, ' +
    'Jackson, Clarke, Harrison, Ward, Turner, Cooper, Hill, Harris, Baker, Mitchell, Carter, Shaw, Bennett, Holmes, Firth, Sykes, Barraclough, ' +
    'Ackroyd, Hardcastle, Sutcliffe, Booth, Armitage, Greenwood, Parker-Hall, Lister, Dyson, Ramsden, Naylor, Whitaker, Oldroyd, Thackray, Gaunt, ' +
    "St John, D'Arcy",
);

export const namePools: readonly NamePool[] = [
  localPool,
  pool(6, 'IE Dublin, IE Galway, IE Limerick',
    'Niamh, Aoife, Saoirse, Ciara, Orla, Róisín, Sinéad, Clodagh, Gráinne, Éabha, Maeve',
    'Conor, Cian, Oisín, Seán, Fionn, Darragh, Pádraig, Rory, Séamus, Tadhg, Éanna',
    "O'Brien, O'Neill, O'Sullivan, O'Connor, O’Connell, Murphy, Kelly, Byrne, Gallagher, Doherty, Fitzgerald, McCarthy, MacMahon, Ó Briain|Ní Bhriain"),
  pool(4, 'CA Halifax, NZ Dunedin',
    'Catrin, Ffion, Siân, Seren, Eilidh, Mairi, Iona, Catriona',
    'Rhys, Dylan, Gethin, Ieuan, Hamish, Angus, Euan, Lachlan',
    'Llewellyn, Griffiths, ap Rhys, Pritchard, MacDonald, Campbell, McGregor, Fraser-Boyd, Urquhart, Sinclair'),
  pool(9, 'PK Lahore, PK Mirpur, PK Karachi, PK Rawalpindi',
    'Aisha, Fatima, Zainab, Maryam, Hafsa, Iqra, Noor, Amina, Sana, Zara, Khadija, Inaya',
    'Muhammad, Mohammed, Ibrahim, Hamza, Yusuf, Ali, Hassan, Bilal, Zayn, Umar, Haris, Abdul-Rahman',
    'Khan, Hussain, Ahmed, Mahmood, Malik, Iqbal, Akhtar, Shah, Mirza, Chaudhry, Qureshi, Butt, Raja, ul-Haq'),
  pool(7, 'IN Mumbai, IN Amritsar, IN Kochi, IN Panaji',
    'Priya, Anaya, Diya, Simran, Jasleen, Meera, Kavya, Riya, Harleen, Ananya',
    'Arjun, Rohan, Aarav, Gurpreet, Jaspreet, Dev, Vihaan, Karan, Nikhil, Aditya',
    "Patel, Singh, Kaur-Gill, Sharma, D'Souza, D'Silva, Fernandes, Nair, Iyer, Menon, Sandhu, Gupta, Varghese, Desai"),
  pool(4, 'BD Sylhet, BD Dhaka',
    'Tasnim, Nusrat, Sadia, Fahmida, Tahmina, Jannat',
    'Rahim, Tanvir, Shakib, Imran, Nayeem, Rafiq',
    'Begum-Ali, Miah, Uddin, Rahman, Chowdhury, Islam, Hoque, Sarkar'),
  pool(6, 'PL Kraków, PL Łódź, PL Gdańsk, PL Wrocław',
    'Zofia, Julia, Maja, Oliwia, Małgorzata, Zuzanna, Aleksandra, Łucja, Kinga',
    'Jakub, Kacper, Szymon, Filip, Michał, Paweł, Łukasz, Stanisław, Mikołaj',
    'Kowalski|Kowalska, Nowak, Wiśniewski|Wiśniewska, Wójcik, Kamiński|Kamińska, Lewandowski|Lewandowska, Zieliński|Zielińska, ' +
      'Dąbrowski|Dąbrowska, Kozłowski|Kozłowska, Żak, Łuczak, Gołąb',
  ),
  pool(
    3,
    'RO București, RO Iași, RO Timișoara',
    'Andreea, Ioana, Ștefania, Bianca, Mădălina',
    'Andrei, Ștefan, Răzvan, Cătălin, Mihai',
    'Popescu, Ionescu, Ștefănescu, Dumitrașcu, Țurcanu, Munteanu'),
  pool(3, 'TR İstanbul, TR İzmir, TR Diyarbakır',
    'Elif, Zeynep, Ayşe, Gülşen, Özlem, Defne',
    'Emre, Yiğit, Çağlar, Barış, Ömer, İbrahim',
    'Yılmaz, Şahin, Çelik, Öztürk, Doğan, Kılıç, Güneş, Ağaoğlu'),
  pool(5, 'NG Lagos, NG Ibadan, NG Enugu',
    'Chidinma, Adaeze, Temitọpẹ, Folasade, Blessing, Ngozi, Oluwaseun',
    'Chukwuemeka, Tobi, Ayọ, Obinna, Emmanuel, Kelechi, Oluwadamilola',
    'Okafor, Adeyemi, Okonkwo, Ọlátúnjí, Eze, Balogun, Nwosu, Adebayo-Cole'),
  pool(3, 'CI Abidjan, ML Bamako, SN Dakar',
    "Aminata, Fatou, Mariam, N'Dèye, Aïssatou",
    "N'Golo, Moussa, Ibrahima, Cheick, Yaya",
    "N'Diaye, Traoré, Koné, M'Baye, Diarra, N'Guessan, Keïta"),
  pool(3, 'SO Mogadishu, SO Hargeisa',
    'Hodan, Ifrah, Sagal, Deqa, Hibaq',
    'Abdirahman, Liban, Mahad, Guled, Abdi',
    'Warsame, Farah, Hersi, Abdullahi, Jama, Ismail'),
  pool(3, 'HK Hong Kong, HK Kowloon',
    'Wing-Yan, Hoi-Ching, Mei, Xiu Ying, Cheuk-Lam',
    'Ka-Ho, Tsz-Hin, Wei, Chun-Kit, Lok-Yin',
    'Chan, Wong, Leung, Ng, Cheung, Lü, Au-Yeung'),
  pool(2, 'PT Lisboa, PT Porto, BR São Paulo',
    'Inês, Beatriz, Conceição, Mafalda, Letícia',
    'João, Gonçalo, Tomás, Simão, Vinícius',
    'da Silva, Gonçalves, Magalhães, Araújo, dos Santos, Conceição'),
  pool(2, 'ES Madrid, CO Bogotá, ES A Coruña',
    'Lucía, Sofía, Begoña, Inés, Ximena',
    'Íñigo, Andrés, Adrián, Ángel, Nicolás',
    'García Núñez, Muñoz, Peña, Ibáñez, Rodríguez-Acuña, Castañeda'),
  pool(3, 'UA Kyiv, UA Kharkiv, UA Lviv',
    'Oleksandra, Daryna, Solomiia, Kateryna, Yeva',
    'Oleksandr, Maksym, Danylo, Taras, Bohdan',
    'Shevchenko, Kovalenko, Bondarenko, Tkachenko, Hryn’ko, Melnyk'),
  pool(2, 'CZ Praha, SK Košice, CZ Ostrava',
    'Tereza, Eliška, Kristýna, Žofie, Nikola',
    'Tomáš, Matěj, Jiří, Lukáš, Ondřej',
    'Dvořák|Dvořáková, Novák|Nováková, Horváth|Horváthová, Kováč|Kováčová, Černý|Černá'),
  pool(2, 'DE Köln, SE Malmö, DK Århus, NO Tromsø',
    'Jördis, Käthe, Åsa, Søs, Björg, Linnéa',
    'Björn, Jörg, Søren, Håkon, Øystein, Åke',
    'Müller, Weiß, Sørensen, Ødegård, Østergaard, Lindström, Bjørnsen, Schäfer'),
  pool(3, 'SY Aleppo, IQ Baghdad, SY Damascus',
    'Rana, Layla, Yasmin, Hala, Nour',
    'Omar, Karim, Tariq, Samir, Yazan',
    'al-Masri, Haddad, El-Sayed, Nasser, Abu Bakr, al-Khatib'),
  pool(1, 'VN Hà Nội, VN Đà Nẵng',
    'Thùy Linh, Hương, Mỹ Duyên, Ngọc',
    'Đức, Hoàng, Minh Tuấn, Quân',
    'Nguyễn, Trần, Phạm, Đặng'),
];

function pool(weight: number, birthplaces: string, female: string, male: string, family: string): NamePool {
  return { weight, birthplaces: places(birthplaces), female: list(female), male: list(male), family: list(family) };
}

function list(text: string): string[] {
  return text.split(', ');
}

/** Each place is a country code, a space and the city. */
function places(text: string): Birthplace[] {
  return list(text).map((place) => ({ country: place.slice(0, 2), city: place.slice(3) }));
}
